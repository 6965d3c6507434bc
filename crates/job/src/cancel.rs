//! Why a job was cancelled.

use serde::{Deserialize, Serialize};

use crate::named::named;

/// Why a job was cancelled. [`CancelCause::Requested`] and [`CancelCause::ResourceGone`] are final; after the others the
/// resource may still need a score, and another job is submitted for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CancelCause {
    /// A caller requested it.
    #[default]
    Requested,
    Suspended,
    /// A field of its resource changed that needs a new submission, such as the priority.
    Replaced,
    /// Its resource was deleted.
    ResourceGone,
}

named!(CancelCause, "cause of a cancellation", {
    Requested = "Requested",
    Suspended = "Suspended",
    Replaced = "Replaced",
    ResourceGone = "ResourceGone",
});

impl CancelCause {
    /// Whether the resource may still need a score.
    pub const fn may_be_resubmitted(self) -> bool {
        matches!(self, Self::Suspended | Self::Replaced)
    }
}
