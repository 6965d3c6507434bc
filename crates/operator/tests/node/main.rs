//! VmafxNode on a real API server with the real built-in controllers, reconciled by a real `vmafx-operator`.
//!
//! There is no kubelet: Pods exist and are never ready. Each test has a namespace of its own; all share one cluster and
//! one operator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod fixture;
mod health;
mod identity;
mod lifecycle;
#[path = "../support/resources.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod resources;
mod spec;
