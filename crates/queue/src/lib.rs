//! The durable queue: the job model, its state machine, and two stores that persist it.
//!
//! | module           | holds                                              |
//! |------------------|----------------------------------------------------|
//! | [`job`]          | jobs, attempts and submissions                     |
//! | [`outcome`]      | how attempts end                                   |
//! | [`node`]         | nodes, sessions, heartbeats and reports            |
//! | [`transition`]   | the state machine: one total function              |
//! | [`fence`]        | which reports are accepted                         |
//! | [`verdict`]      | what a reported failure means for job and node     |
//! | [`quarantine`]   | which nodes get no jobs because they fail them     |
//! | [`lost_pull`]    | which jobs a node gives back that it never received |
//! | `idempotency`    | what a submission means whose key is known         |
//! | `usage`          | what a tenant holds, as counted against its limits |
//! | [`policy`]       | durations, limits, back-off                        |
//! | [`store`]        | the operations of every store, with their promises |
//! | [`sqlite`]       | the store in one file, for one controller          |
//! | [`postgres`]     | the store shared by several controllers            |
//! | [`notification`] | notifications to subscribers of a store            |
//! | [`clock`]        | the clock                                          |
//!
//! Both stores keep four promises. One conformance suite checks them, and a model test compares the stores with a
//! reference implementation under random operations:
//!
//! - An acknowledged submission is never lost and ends exactly once.
//! - Only the attempt that holds the lease can end a job; reports of every other attempt are fenced.
//! - A claim takes the first matching job by priority, then age, then id, and no two claims take the same job. A job is
//!   kept for a while from a node that failed it, and a quarantined node claims nothing.
//! - Only the sweep ends a lease or a session. Nothing else compares an expiry with a clock, so a clock jump or a
//!   controller outage costs no node its lease: the next sweep detects the gap and renews every lease and session.

pub mod clock;
pub mod fence;
mod idempotency;
pub mod ids;
pub mod job;
pub mod lost_pull;
pub mod node;
pub mod notification;
pub mod outcome;
pub mod policy;
pub mod postgres;
pub mod quarantine;
pub mod sqlite;
pub mod store;
pub mod transition;
mod usage;
pub mod verdict;

pub use ids::{AttemptNumber, IdempotencyKey, JobId, PullId, SessionId, TenantId};
pub use job::{Job, NewJob};
pub use store::{Store, StoreError, StoreResult};
