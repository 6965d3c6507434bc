//! VmafxModelTraining: a model that keeps learning from finished jobs.
//!
//! | module         | holds                                                                             |
//! |----------------|-----------------------------------------------------------------------------------|
//! | [`render`]     | the desired objects of a run: StatefulSet and Service; pure                       |
//! | [`observe`]    | the live objects, and what the trainer reports ([`poll`])                         |
//! | [`plan`]       | what to do and why; which checkpoint is new ([`checkpoint`]); pure                |
//! | [`apply`]      | carries out the plan                                                              |
//! | [`status`]     | the status that follows, and the write of it                                      |
//! | [`reconcile`]  | one pass: these in their order                                                    |
//! | [`args`], [`trainer_url`] | settings of trainers, and the URL of a trainer                             |

pub mod apply;
pub mod args;
pub mod checkpoint;
pub mod observe;
pub mod plan;
pub mod poll;
pub mod reconcile;
pub mod render;
pub mod status;
pub mod trainer_url;

use vmafx_api::VmafxModelTraining;

use crate::runtime::CachedResource;

pub use self::args::TrainerArgs;
pub use self::reconcile::TrainingReconciler;

pub type CachedTraining = CachedResource<VmafxModelTraining>;
