//! Which of several operators may write.
//!
//! One Lease of `coordination.k8s.io/v1` names the leader; who wants to lead follows the same protocol as every Go
//! controller:
//!
//! * **Clocks are not compared.** A lease has expired when it was seen unchanged for its whole duration, by the clock of
//!   the one who looks. What the record says about the time of day is for people.
//! * **Every step is a compare-and-swap** on the resource version: of two who try, one is told of a conflict.
//! * **The leader gives up first.** It renews every retry period; when the last renewal that succeeded was *sent* longer
//!   ago than the renew deadline, it has lost, and its [`Permit`] with it. The lease lasts longer than that, so nobody else
//!   can lead yet.
//! * **Whoever stops says so**: the record without a holder is free at once.
//!
//! | module       | holds                                                 |
//! |--------------|-------------------------------------------------------|
//! | [`args`]     | the settings and what is wrong with some of them      |
//! | `record`     | what a lease says and what to write; no I/O           |
//! | [`election`] | the requests and the pauses                           |
//! | [`permit`]   | whether a write may be sent at this very moment       |
//! | [`holder`]   | a name that no other process has                      |

pub mod args;
pub mod election;
pub mod holder;
pub mod metrics;
pub mod permit;
mod record;

pub use args::{LeaseArgs, LeaseSettings};
pub use election::Election;
pub use holder::holder_identity;
pub use metrics::LeaseMetrics;
pub use permit::Permit;
