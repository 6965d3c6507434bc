//! The StatefulSet of a resource with its Service and disruption budget: observe, plan, apply, status.
//!
//! | module       | holds                                                                                       |
//! |--------------|---------------------------------------------------------------------------------------------|
//! | `desired`    | the desired objects of a resource                                                           |
//! | `observe`    | [`Workloads::observe`]: the live objects, cached or read from the API server                |
//! | `decide`     | [`decide`]: which StatefulSet is ours and what to do about it; pure, with the table of all cases |
//! | `child`      | [`decide_child`]: the same for a Service or disruption budget                               |
//! | `plan`       | [`plan`]: the writes that follow, and why; pure                                             |
//! | `apply`      | [`Workloads::apply`]: carries out a plan; while nothing has changed it sends no request     |
//! | `status`     | [`WorkloadPlan::status`]: what status and events say of it; pure                            |
//! | `accounts`   | [`ServiceAccounts`]: the accounts that the Pods run as                                      |
//! | [`workers`]  | conditions that follow from the Pods of the StatefulSet; pure                               |

mod accounts;
mod apply;
mod child;
mod decide;
mod desired;
mod fingerprint;
mod immutables;
mod metrics;
mod objects;
mod observe;
mod owner;
mod plan;
mod replacements;
mod resource;
mod snapshot;
mod status;
pub mod workers;

pub use self::accounts::{DesiredAccount, ServiceAccounts};
pub use self::apply::AppliedWorkload;
pub use self::child::{ChildDecision, ChildPlan, decide_child};
pub use self::decide::{MAX_REPLACEMENTS, ReplaceReason, WorkloadDecision, WorkloadRefusal, decide};
pub use self::desired::{DesiredChild, DesiredStatefulSet, DesiredWorkload, body};
pub use self::fingerprint::Fingerprint;
pub use self::immutables::ImmutableFields;
pub use self::metrics::{DecisionLabel, WorkloadMetrics};
pub use self::objects::{LastApply, ObjectWrite, ObservedObject};
pub use self::observe::{Freshness, ObservedWorkload, WorkloadCaches, Workloads};
pub use self::owner::{ControllerRef, ResourceOwner};
pub use self::plan::{StatefulSetPlan, SyncPlan, WorkloadAction, WorkloadPlan, external, plan};
pub use self::replacements::RecentReplacements;
pub use self::resource::{TrackedResource, TracksWorkload};
pub use self::snapshot::{ChildSnapshot, RolloutProgress, Snapshot, StatefulSetSnapshot};
pub use self::status::WorkloadStatus;
pub use self::workers::WorkerCounts;

/// Annotation of a StatefulSet: the UID of the one that it was created in place of. It proves that the StatefulSet is
/// ours if the status write that should record it was lost.
pub const SUCCEEDS: &str = "vmafx.dev/succeeds";

/// Annotation of a resource: `"true"` takes back a StatefulSet whose owner reference was removed.
pub const ADOPT: &str = "vmafx.dev/adopt";
