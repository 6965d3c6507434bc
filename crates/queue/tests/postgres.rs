//! What is true of the store on Postgres alone: policies, many controllers, a server that goes away.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

#[path = "postgres/support.rs"]
mod support;

#[path = "postgres/apart.rs"]
mod apart;
#[path = "postgres/faults.rs"]
mod faults;
#[path = "postgres/feed.rs"]
mod feed;
#[path = "postgres/heard.rs"]
mod heard;
#[path = "postgres/prune.rs"]
mod prune;
#[path = "postgres/start.rs"]
mod start;
#[path = "postgres/work.rs"]
mod work;
