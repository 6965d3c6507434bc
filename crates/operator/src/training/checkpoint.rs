//! Which checkpoint is new, and how people are told of each exactly once.
//!
//! The event comes first, then the status that records the checkpoint. Its name follows from the run and the time of the
//! checkpoint, so whoever finds the status unwritten, by a crash, a conflict or a lost answer, and tells again, is
//! told by the API server that it exists, which is as good. Events are kept for an hour; by then the status is long
//! written, and what it records is not told again.

use k8s_openapi::jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use vmafx_api::VmafxModelTrainingStatus;
use vmafx_api::conditions::Reason;

use crate::events::Happening;

/// Whether a checkpoint is later than the one that is recorded. A trainer that begins again from an older one has
/// written nothing; but a recorded time that is still to come was a wrong clock's.
pub fn is_new(recorded: Option<Timestamp>, reported: Timestamp, now: Timestamp) -> bool {
    recorded.is_none_or(|recorded| reported > recorded || (reported < recorded && recorded > now))
}

/// The event about the checkpoint that a status is about to record, and what its name is made of.
pub fn written(
    uid: &str,
    before: Option<&VmafxModelTrainingStatus>,
    after: &VmafxModelTrainingStatus,
) -> Option<(Uuid, Happening)> {
    let time = after.last_checkpoint.as_ref()?;
    if before.is_some_and(|before| before.last_checkpoint.as_ref() == Some(time)) {
        return None;
    }
    let version = after.model_version.as_deref().unwrap_or_default();
    let samples = after.current_samples.unwrap_or_default();
    let note = format!("Model checkpoint written: version={version} samples={samples}");
    Some((identity(uid, time.0), Happening::normal(Reason::CheckpointWritten, note)))
}

fn identity(uid: &str, time: Timestamp) -> Uuid {
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
    fn the_words_are_those_of_the_contract() {
        let (_, told) = written("u", None, &at(5, "m-v000001")).unwrap();
        let words = "Model checkpoint written: version=m-v000001 samples=42";
        assert_eq!(told, Happening::normal(Reason::CheckpointWritten, words));
    }

    #[test]
    fn one_checkpoint_of_one_run_has_one_name() {
        let name =
            |uid: &str, status: &VmafxModelTrainingStatus| written(uid, None, status).map(|(id, _)| id);
        assert_eq!(name("u", &at(5, "a")), name("u", &at(5, "b")), "the version may come later");
        assert_ne!(name("u", &at(5, "a")), name("u", &at(6, "a")));
        assert_ne!(name("u", &at(5, "a")), name("v", &at(5, "a")));
    }

    #[test]
    fn what_is_recorded_is_not_told_again() {
        assert_eq!(written("u", Some(&at(5, "a")), &at(5, "a")), None);
        assert_eq!(written("u", None, &VmafxModelTrainingStatus::default()), None);
    }
}
