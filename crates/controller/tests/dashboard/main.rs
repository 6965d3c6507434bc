//! The dashboard of the real controller: its headers, its session, and its pages in a real browser.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

#[path = "../support/clock.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod clock;
#[path = "../outside/controller.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod controller;
#[path = "../outside/http.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod http;
#[path = "../auth/issuer.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod issuer;
#[path = "../support/node.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod node;

mod browser;
mod files;
mod pages;
mod session;
mod workers;

/// The module in which `node.rs` expects its client.
mod server {
    pub(crate) use crate::controller::Client;
}
