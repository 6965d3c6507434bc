//! The durable queue: what a job is, what may happen to it, and two stores that keep it.
//!
//! | module          | holds                                                                              |
//! |-----------------|------------------------------------------------------------------------------------|
//! | [`job`]         | a job, and what is told about it at submission                                     |
//! | [`outcome`]     | how attempts end                                                                   |
//! | [`node`]        | nodes, their sessions and what they say                                            |
//! | [`transition`]  | the state machine: one total function                                              |
//! | [`fence`]       | whose report counts                                                                |
//! | [`policy`]      | lengths of time, limits, back-off                                                  |
//! | [`store`]       | the operations every store has, with their promises                                |
//! | [`sqlite`]      | the store in one file, for one controller                                          |
//! | [`clock`]       | where the time comes from                                                          |
//!
//! Four promises, on both stores, held by one conformance suite and by a model that random operations are compared
//! with:
//!
//! - An acknowledged submission is never lost and ends exactly once.
//! - Only the attempt that holds the lease can end a job; everybody else is fenced.
//! - A claim takes the first job that fits, by priority, then age, then id, and no two claims take the same one.
//! - Only the sweep ends a lease or a session. Nothing else compares an expiry with a clock, so a clock that jumps
//!   or a controller that was away costs nobody a lease: the sweep notices, and gives everybody a full one.

pub mod clock;
pub mod fence;
pub mod ids;
pub mod job;
pub mod node;
pub mod notice;
pub mod outcome;
pub mod policy;
pub mod postgres;
pub mod sqlite;
pub mod store;
pub mod transition;

pub use ids::{AttemptNumber, IdempotencyKey, JobId, SessionId, TenantId};
pub use job::{Job, NewJob};
pub use store::{Store, StoreError};
