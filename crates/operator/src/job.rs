//! VmafxJob: one pair of clips to score.
//!
//! | file            | holds                                                                       |
//! |-----------------|-----------------------------------------------------------------------------|
//! | [`seen`]        | a resource as it is kept: whole while it is open, almost nothing afterwards |
//! | [`request`]     | the submission that a resource stands for: pure                             |
//! | [`plan`]        | what to do next, from the resource and the controller's word: pure          |
//! | [`status`]      | what its status says: pure                                                  |
//! | [`pod`]         | jobs that have a Pod of their own, and so nothing to do with the controller |
//! | [`label`]       | what viewers say of a job, when they say it after its submission            |
//! | [`link`]        | the calls to the controller                                                 |
//! | [`mirror`]      | the controller's jobs, as they were last heard of                           |
//! | [`memory`]      | what is known of a resource and not written yet                             |
//! | [`follow`]      | the controller's live stream, into the mirror                               |
//! | [`sweep`]       | ends jobs whose resource is gone                                            |
//! | [`reconcile`]   | one pass: settle with the controller, write the status if it changed        |
//! | [`metrics`]     | what is counted                                                             |
//! | [`start`]       | all of that, while this operator leads                                      |

pub mod follow;
pub mod label;
pub mod link;
pub mod memory;
pub mod metrics;
pub mod mirror;
pub mod plan;
pub mod pod;
pub mod reconcile;
pub mod request;
pub mod seen;
pub mod start;
pub mod status;
pub mod sweep;

pub use self::reconcile::JobReconciler;
pub use self::seen::{Seen, What};
