//! Everything from which a run resumes, in one layer, so that its parts always belong together.
//!
//! ```text
//! "VMAFXTR1" | length of the header, u32 | header: JSON | base model | fingerprints | the learner's state
//! ```
//!
//! The state contains the base model, so a run resumes even if the tag or file it started from has changed or is gone.
//! Numbers are little-endian.

use serde::{Deserialize, Serialize};

use crate::source::Fingerprints;

const MAGIC: &[u8; 8] = b"VMAFXTR1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainerState {
    /// Position in the sample stream.
    pub cursor: String,
    pub fingerprints: Fingerprints,
    /// The base model's name, as in the settings.
    pub base_model: String,
    /// The base model's JSON.
    pub base: Vec<u8>,
    /// The result of [`Learner::state`](crate::learner::Learner::state).
    pub learner: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrainerStateError {
    #[error("the state was not written by a trainer of this version")]
    Foreign,
    #[error("the state is damaged: it was truncated or changed")]
    Damaged,
}

#[derive(Serialize, Deserialize)]
struct StateHeader {
    cursor: String,
    base_model: String,
    base_bytes: usize,
    #[serde(rename = "marks_bytes")]
    fingerprint_bytes: usize,
    /// How many of the oldest fingerprints belong to samples that are read again after a restore.
    #[serde(default)]
    expected_again: usize,
    learner_bytes: usize,
}

impl TrainerState {
    pub fn to_bytes(&self) -> Vec<u8> {
        let fingerprints = self.fingerprints.to_bytes();
        let header = StateHeader {
            cursor: self.cursor.clone(),
            base_model: self.base_model.clone(),
            base_bytes: self.base.len(),
            fingerprint_bytes: fingerprints.len(),
            expected_again: self.fingerprints.expected_again(),
            learner_bytes: self.learner.len(),
        };
        // A struct of strings and integers can always be serialized.
        let header = serde_json::to_vec(&header).unwrap_or_default();
        let length = u32::try_from(header.len()).unwrap_or(u32::MAX).to_le_bytes();
        [MAGIC.as_slice(), &length, &header, &self.base, &fingerprints, &self.learner].concat()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TrainerStateError> {
        let rest = bytes.strip_prefix(MAGIC.as_slice()).ok_or(TrainerStateError::Foreign)?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(TrainerStateError::Damaged)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| TrainerStateError::Damaged)?;
        let (header, rest) = rest.split_at_checked(length).ok_or(TrainerStateError::Damaged)?;
        let header: StateHeader = serde_json::from_slice(header).map_err(|_| TrainerStateError::Damaged)?;
        let (base, rest) = rest.split_at_checked(header.base_bytes).ok_or(TrainerStateError::Damaged)?;
        let (fingerprints, learner) =
            rest.split_at_checked(header.fingerprint_bytes).ok_or(TrainerStateError::Damaged)?;
        if learner.len() != header.learner_bytes {
            return Err(TrainerStateError::Damaged);
        }
        Ok(Self {
            cursor: header.cursor,
            fingerprints: Fingerprints::from_bytes(fingerprints, header.expected_again)
                .ok_or(TrainerStateError::Damaged)?,
            base_model: header.base_model,
            base: base.to_owned(),
            learner: learner.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::learner::Sample;

    fn state() -> TrainerState {
        let mut fingerprints = Fingerprints::default();
        fingerprints.add(&Sample {
            job_id: "j".into(),
            features: BTreeMap::new(),
            ground_truth: 3.0,
            labelled_by: String::new(),
        });
        fingerprints.expect_all_again();
        TrainerState {
            cursor: "store.s7".into(),
            fingerprints,
            base_model: "vmaf_v0.6.1".into(),
            base: b"{}".to_vec(),
            learner: vec![1, 2, 3],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(TrainerState::from_bytes(&state().to_bytes()), Ok(state()));
    }

    #[test]
    fn a_truncated_or_extended_state_is_refused() {
        let whole = state().to_bytes();
        for length in 0..whole.len() {
            assert!(TrainerState::from_bytes(&whole[..length]).is_err(), "{length}");
        }
        assert_eq!(TrainerState::from_bytes(&[whole, vec![0]].concat()), Err(TrainerStateError::Damaged));
    }

    #[test]
    fn foreign_content_is_distinguished_from_damage() {
        assert_eq!(TrainerState::from_bytes(b"{\"a\": 1}"), Err(TrainerStateError::Foreign));
    }
}
