//! Why a job was ended from outside.

use serde::{Deserialize, Serialize};

use crate::named::named;

/// Why a job was cancelled. Only [`CancelCause::Requested`] and [`CancelCause::ResourceGone`] are somebody's last word: after
/// the others the resource may still want its score, and another job is submitted for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CancelCause {
    /// A caller gave the job up.
    #[default]
    Requested,
    /// Its resource was suspended.
    Suspended,
    /// Its resource changed what only a new submission can take up, such as the priority.
    Replaced,
    /// Its resource does not exist any more.
    ResourceGone,
}

named!(CancelCause, "cause of a cancellation", {
    Requested = "Requested",
    Suspended = "Suspended",
    Replaced = "Replaced",
    ResourceGone = "ResourceGone",
});

impl CancelCause {
    /// Whether the resource may still want a score.
    pub const fn may_be_resubmitted(self) -> bool {
        matches!(self, Self::Suspended | Self::Replaced)
    }
}
