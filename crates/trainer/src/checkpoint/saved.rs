//! What a run needs to go on from a checkpoint: all of it in one layer, so that it cannot come apart.
//!
//! ```text
//! "VMAFXTR1" | length of the head, u32 | head: JSON | base model | marks | the learner's state
//! ```
//!
//! The base model is in it, so a run goes on also when the tag or the file it began with has moved or is gone.
//! Numbers are little endian.

use serde::{Deserialize, Serialize};

use crate::source::Marks;

const MAGIC: &[u8; 8] = b"VMAFXTR1";

/// What a run needs to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The place in the stream of samples.
    pub cursor: String,
    /// The samples learned last.
    pub marks: Marks,
    /// The base model's name, as the settings had it.
    pub base_model: String,
    /// The base model.
    pub base: Vec<u8>,
    /// The learner.
    pub learner: Vec<u8>,
}

/// A state that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedError {
    /// Not ours, or of another release.
    #[error("it is not the state of a trainer of this kind")]
    Foreign,
    /// Cut or changed.
    #[error("the state is damaged")]
    Damaged,
}

#[derive(Serialize, Deserialize)]
struct Head {
    cursor: String,
    base_model: String,
    base_bytes: usize,
    marks_bytes: usize,
    learner_bytes: usize,
}

impl Saved {
    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let marks = self.marks.to_bytes();
        let head = Head {
            cursor: self.cursor.clone(),
            base_model: self.base_model.clone(),
            base_bytes: self.base.len(),
            marks_bytes: marks.len(),
            learner_bytes: self.learner.len(),
        };
        // A map of texts and numbers can always be written.
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let length = u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes();
        [MAGIC.as_slice(), &length, &head, &self.base, &marks, &self.learner].concat()
    }

    /// Back from bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SavedError> {
        let rest = bytes.strip_prefix(MAGIC.as_slice()).ok_or(SavedError::Foreign)?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(SavedError::Damaged)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| SavedError::Damaged)?;
        let (head, rest) = rest.split_at_checked(length).ok_or(SavedError::Damaged)?;
        let head: Head = serde_json::from_slice(head).map_err(|_| SavedError::Damaged)?;
        let (base, rest) = rest.split_at_checked(head.base_bytes).ok_or(SavedError::Damaged)?;
        let (marks, learner) = rest.split_at_checked(head.marks_bytes).ok_or(SavedError::Damaged)?;
        if learner.len() != head.learner_bytes {
            return Err(SavedError::Damaged);
        }
        Ok(Self {
            cursor: head.cursor,
            marks: Marks::from_bytes(marks).ok_or(SavedError::Damaged)?,
            base_model: head.base_model,
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

    fn saved() -> Saved {
        let mut marks = Marks::default();
        marks.add(&Sample { job_id: "j".into(), features: BTreeMap::new(), ground_truth: 3.0 });
        Saved {
            cursor: "store.s7".into(),
            marks,
            base_model: "vmaf_v0.6.1".into(),
            base: b"{}".to_vec(),
            learner: vec![1, 2, 3],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(Saved::from_bytes(&saved().to_bytes()), Ok(saved()));
    }

    #[test]
    fn no_piece_of_it_and_nothing_more_than_it_is_a_state() {
        let whole = saved().to_bytes();
        for length in 0..whole.len() {
            assert!(Saved::from_bytes(&whole[..length]).is_err(), "{length}");
        }
        assert_eq!(Saved::from_bytes(&[whole, vec![0]].concat()), Err(SavedError::Damaged));
    }

    #[test]
    fn what_others_wrote_is_told_from_what_is_broken() {
        assert_eq!(Saved::from_bytes(b"{\"a\": 1}"), Err(SavedError::Foreign));
    }
}
