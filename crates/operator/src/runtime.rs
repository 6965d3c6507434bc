//! What drives the reconcilers: a watch per kind fills a cache, keys go into a queue, workers take from the queue.
//!
//! ```text
//!  API server ──watch──▶ Cache<V> ──keys──▶ Queue ──▶ reconcile(key) ──▶ API server
//!                          ▲                   ▲            │
//!                          └── own writes ─────┼────────────┤
//!                                              └─ timer, back-off
//! ```
//!
//! * Every kind has its own list and watch (`list_watch`) with its own back-off after errors: a kind that cannot be watched
//!   does not affect the others ([`watch`]).
//! * A cache holds what its readers need of an object, not the object ([`cache`]).
//! * A key is worked on at most once at a time; a change meanwhile makes it ready again ([`queue`]).
//! * A reconcile has a deadline, its failure a back-off per key, and its panic does not affect other keys ([`controller`]).

pub mod backoff;
pub mod cache;
pub mod cached_resource;
pub mod controller;
mod identity;
mod list_stream;
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
