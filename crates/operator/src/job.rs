//! VmafxJob: one pair of clips to score.
//!
//! A job with `execution: Queue` is handed to the controller; one with `execution: Pod` runs as a Kubernetes Job
//! ([`in_pod`]) and never reaches the controller. Both are reconciled in the same steps:
//!
//! | module                | holds                                                                              |
//! |-----------------------|------------------------------------------------------------------------------------|
//! | [`observe`]           | what the controller says about the job of a resource                               |
//! | [`plan`]              | the next action and why; pure                                                      |
//! | [`apply`]             | carries out one action and returns what was observed                               |
//! | [`status`]            | the status that follows ([`conditions`]), which is pure, and the write of it       |
//! | [`timing`]            | debounce, back-off and poll intervals; pure                                        |
//! | [`reconcile`]         | one pass: rounds of plan and apply, then the status                                |
//! | [`request`]           | converts a resource into its submission to the controller; pure                    |
//! | [`label`]             | ground truths that are set after the submission; [`late_label`]: after the end     |
//! | [`update`]            | changes of a resource after its submission; pure                                   |
//! | [`cached_job`]        | what is cached of a resource: all of it while it is open, very little afterwards   |
//! | [`tracked`]           | what was observed of an open resource and is not in its status yet                 |
//! | [`controller_client`] | the calls to the controller                                                        |
//! | [`scope`]             | client, stream and cache of each tenant                                            |
//! | [`outage`]            | since when the controller does not answer                                          |
//! | [`controller_cache`]  | the newest revision of each of the controller's jobs, filled by [`job_stream`]     |
//! | [`refresh`]           | asks about open jobs of which nothing was heard, although the stream is live       |
//! | [`sweep`]             | cancels jobs of the controller whose resource is gone; [`orphan`]: which, pure     |
//! | [`start`]             | runs all of this while this operator is the leader                                 |

pub mod apply;
pub mod cached_job;
pub mod conditions;
pub mod controller_cache;
pub mod controller_client;
#[cfg(test)]
mod fixtures;
pub mod in_pod;
pub mod job_stream;
pub mod label;
pub mod late_label;
pub mod metrics;
pub mod observe;
pub mod orphan;
pub mod outage;
pub mod plan;
pub mod reconcile;
pub mod refresh;
pub mod request;
pub mod scope;
pub mod start;
pub mod status;
pub mod sweep;
pub mod timing;
pub mod tracked;
pub mod update;

pub use self::cached_job::{CachedJob, CachedJobState};
pub use self::reconcile::JobReconciler;
