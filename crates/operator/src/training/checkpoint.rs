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

    use super::*;

    fn at(time: i64, version: &str) -> VmafxModelTrainingStatus {
        VmafxModelTrainingStatus {
            last_checkpoint: Some(Time(Timestamp::from_second(time).unwrap())),
            model_version: Some(version.to_owned()),
            current_samples: Some(42),
            ..VmafxModelTrainingStatus::default()
        }
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
}
