//! Leader election.
//!
//! One Lease of `coordination.k8s.io/v1` names the leader. The protocol is that of Go controllers:
//!
//! * **Clocks are not compared.** A lease has expired when a candidate has observed it unchanged for its whole duration, by
//!   the candidate's own clock. The timestamps in the record are for people.
//! * **Every write is a compare-and-swap** on the resource version: of two candidates, one gets a conflict.
//! * **The leader gives up first.** It renews every retry period; when the last successful renewal was *sent* longer ago
//!   than the renew deadline, the leader has lost the lease and its [`Permit`]. The lease lasts longer than that, so nobody
//!   else can lead yet.
//! * **A leader that stops releases the lease**: a record without a holder is free at once.
//!
//! | module       | holds                                                 |
//! |--------------|-------------------------------------------------------|
//! | [`args`]     | the settings and their validation                     |
//! | `record`     | the state of a lease and the next record; no I/O      |
//! | [`election`] | requests and retry delays                             |
//! | [`permit`]   | whether a write may be sent now                       |
//! | [`holder`]   | the unique identity of a process                      |
//! | [`installation`] | the identity that successive leaders share        |

pub mod args;
pub mod election;
pub mod holder;
pub mod installation;
pub mod metrics;
pub mod permit;
mod record;

pub use args::{LeaseArgs, LeaseSettings};
pub use election::Election;
pub use holder::holder_identity;
pub use installation::Installation;
pub use metrics::LeaseMetrics;
pub use permit::Permit;
