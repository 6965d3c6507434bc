//! A StatefulSet for a resource: observe, decide, act.
//!
//! * [`Facts`] is what is kept of a StatefulSet; [`Owner`] is the resource that it is for.
//! * [`decide`] says what is to be done: pure, total, with the table of all cases in its module.
//! * [`Workloads::sync`] does it, once per pass. While nothing has changed it makes no request at all.
//! * [`Children::ensure`] does the same for the plain objects beside it: a Service, a disruption budget.
//! * [`Made`] is what came of both; [`Workers`] is what the StatefulSet says of its Pods.
//! * A resource has a workload if it [`Tracks`] one.

pub(crate) mod act;
mod applied;
mod children;
mod decide;
mod facts;
mod fingerprint;
mod immutables;
mod made;
mod metrics;
mod owner;
mod replacements;
mod resource;
mod say;
mod sync;
pub mod workers;

pub use self::act::body;
pub use self::children::{Children, Ensured, Plain};
pub use self::decide::{Decision, MOST_REPLACEMENTS, Refusal, Why, decide};
pub use self::facts::{Facts, Numbers};
pub use self::fingerprint::Fingerprint;
pub use self::immutables::Immutables;
pub use self::made::Made;
pub use self::metrics::{WorkloadDecision, WorkloadMetrics};
pub use self::owner::{ControllerRef, Owner};
pub use self::resource::Tracks;
pub use self::sync::{Seen, Synced, Workloads};
pub use self::workers::Workers;

/// On a StatefulSet: the UID of the one that it was made in place of. By it we know our own if the status that should
/// name it was never written.
pub const SUCCEEDS: &str = "vmafx.dev/succeeds";

/// On a resource: `"true"` takes back a StatefulSet whose owner reference was removed.
pub const ADOPT: &str = "vmafx.dev/adopt";
