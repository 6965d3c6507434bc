//! VmafxModelTraining: a model that keeps learning from finished jobs.
//!
//! | file            | holds                                                                            |
//! |-----------------|----------------------------------------------------------------------------------|
//! | [`args`]        | what the settings say about trainers                                             |
//! | [`address`]     | where a trainer is asked how it is                                               |
//! | [`render`]      | what is made for a run: StatefulSet and Service                                  |
//! | [`poll`]        | asks a trainer, as often as it is worth it, and reads its answer                 |
//! | [`checkpoint`]  | which checkpoint is new, and how its event is told once: pure                    |
//! | [`status`]      | what the status of a run says: pure                                              |
//! | [`reconcile`]   | one pass: sync, ask, tell of a checkpoint, write the status if it changed        |

pub mod address;
pub mod args;
pub mod checkpoint;
pub mod poll;
pub mod reconcile;
pub mod render;
pub mod status;

use vmafx_api::VmafxModelTraining;

use crate::runtime::Whole;

pub use self::args::TrainerArgs;
pub use self::reconcile::TrainingReconciler;

/// A run as it is kept.
pub type Seen = Whole<VmafxModelTraining>;
