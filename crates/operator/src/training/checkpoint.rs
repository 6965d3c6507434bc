//! Which checkpoint is new, and how each is published in exactly one event. Pure.
//!
//! The event comes first, then the status that records the checkpoint. The event's name follows from the run and the time
//! of the checkpoint. If the status was not written, because of a crash, a conflict or a lost answer, the event is
//! published again, and the API server answers that it exists, which is as good. Events are kept for an hour; by then
//! the status is written, and a checkpoint that the status records is not published again.

use k8s_openapi::jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use vmafx_api::VmafxModelTrainingStatus;
use vmafx_api::conditions::Reason;

use crate::events::ResourceEvent;

/// Whether a checkpoint is later than the recorded one. A trainer that starts again from an older checkpoint has written
/// nothing; but a recorded time in the future comes from a wrong clock, and any other time is newer.
pub fn is_new(recorded: Option<Timestamp>, reported: Timestamp, now: Timestamp) -> bool {
    recorded.is_none_or(|recorded| reported > recorded || (reported < recorded && recorded > now))
}

/// The event about a checkpoint, and the id that makes the name of the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointEvent {
    pub id: Uuid,
    pub event: ResourceEvent,
}

/// The event about the checkpoint that the status `after` is about to record, if `before` does not record it.
pub fn written(
    uid: &str,
    before: Option<&VmafxModelTrainingStatus>,
    after: &VmafxModelTrainingStatus,
) -> Option<CheckpointEvent> {
    let time = after.last_checkpoint.as_ref()?;
    if before.is_some_and(|before| before.last_checkpoint.as_ref() == Some(time)) {
        return None;
    }
    let version = after.model_version.as_deref().unwrap_or_default();
    let samples = after.current_samples.unwrap_or_default();
    let note = format!("Model checkpoint written: version={version} samples={samples}");
    let event = ResourceEvent::normal(Reason::CheckpointWritten, note);
    Some(CheckpointEvent { id: event_id(uid, time.0), event })
}

fn event_id(uid: &str, time: Timestamp) -> Uuid {
    let digest: [u8; 32] = Sha256::digest(format!("{uid} {}", time.as_second())).into();
    let (id, _) = digest.split_at(16);
    Uuid::from_slice(id).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use rstest::rstest;

    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn at(time: i64, version: &str) -> VmafxModelTrainingStatus {
        VmafxModelTrainingStatus {
            last_checkpoint: Some(Time(second(time))),
            model_version: Some(version.to_owned()),
            current_samples: Some(42),
            ..VmafxModelTrainingStatus::default()
        }
    }

    #[rstest]
    #[case::the_first(None, 100, true)]
    #[case::later(Some(90), 100, true)]
    #[case::the_same(Some(100), 100, false)]
    #[case::begun_again_from_an_older_one(Some(110), 100, false)]
    #[case::recorded_by_a_wrong_clock(Some(9_000), 100, true)]
    fn a_checkpoint_is_new_if_it_is_later(
        #[case] recorded: Option<i64>,
        #[case] time: i64,
        #[case] new: bool,
    ) {
        assert_eq!(is_new(recorded.map(second), second(time), second(1_000)), new);
    }

    #[test]
    fn the_note_is_that_of_the_contract() {
        let written = written("u", None, &at(5, "m-v000001")).unwrap();
        let note = "Model checkpoint written: version=m-v000001 samples=42";
        assert_eq!(written.event, ResourceEvent::normal(Reason::CheckpointWritten, note));
    }

    #[test]
    fn one_checkpoint_of_one_run_has_one_name() {
        let name = |uid: &str, status: &VmafxModelTrainingStatus| {
            written(uid, None, status).map(|checkpoint| checkpoint.id)
        };
        assert_eq!(name("u", &at(5, "a")), name("u", &at(5, "b")), "the version may come later");
        assert_ne!(name("u", &at(5, "a")), name("u", &at(6, "a")));
        assert_ne!(name("u", &at(5, "a")), name("v", &at(5, "a")));
    }

    #[test]
    fn what_is_recorded_is_not_published_again() {
        assert_eq!(written("u", Some(&at(5, "a")), &at(5, "a")), None);
        assert_eq!(written("u", None, &VmafxModelTrainingStatus::default()), None);
    }
}
