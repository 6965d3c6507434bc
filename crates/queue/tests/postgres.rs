//! Properties of the store on Postgres only: row-level security, several controllers, outages of the server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

#[path = "postgres/support.rs"]
mod support;

#[path = "postgres/announcements.rs"]
mod announcements;
#[path = "postgres/faults.rs"]
mod faults;
#[path = "postgres/feed.rs"]
mod feed;
#[path = "postgres/frozen.rs"]
mod frozen;
#[path = "postgres/full.rs"]
mod full;
#[path = "postgres/limits.rs"]
mod limits;
#[path = "postgres/prune.rs"]
mod prune;
#[path = "postgres/restore.rs"]
mod restore;
#[path = "postgres/start.rs"]
mod start;
#[path = "postgres/tenants.rs"]
mod tenants;
#[path = "postgres/work.rs"]
mod work;
