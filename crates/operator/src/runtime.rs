//! What drives the reconcilers: a stream per kind into a cache, keys into a queue, workers that take from it.
//!
//! ```text
//!  API server ──watch──▶ Cache<V> ──keys──▶ Queue ──▶ reconcile(key) ──▶ API server
//!                          ▲                   ▲            │
//!                          └── own writes ─────┼────────────┤
//!                                              └─ timer, back-off
//! ```
//!
//! * Every kind has a stream of its own (`source`), with its own pauses after errors: a kind that cannot be watched stops
//!   nothing else ([`watch`]).
//! * What is kept of an object is what its readers need, not the object ([`cache`]).
//! * A key is in work at most once at a time; what happens to it meanwhile makes it come again ([`queue`]).
//! * A reconcile has a deadline, its failure a pause of its own, and its panic stops nobody else ([`controller`]).

pub mod backoff;
pub mod cache;
pub mod cached_resource;
pub mod controller;
mod identity;
mod list_watch;
pub mod metrics;
pub mod notifier;
pub mod queue;
pub mod raw_object;
pub mod watch;

pub use self::cache::{Cache, Cached};
pub use self::cached_resource::CachedResource;
pub use self::controller::{Controller, Reconcile, ReconcileError, RequeueAfter};
pub use self::identity::ObjectIdentity;
pub use self::metrics::{RuntimeMetrics, WatchedKind};
pub use self::notifier::Notifier;
pub use self::watch::Watch;
