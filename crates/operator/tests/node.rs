//! VmafxNode on a real API server with the real built-in controllers, reconciled by a real `vmafx-operator`.
//!
//! There is no kubelet: Pods exist and are never ready. Each test has a namespace of its own; all share one cluster and
//! one operator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

#[path = "node/health.rs"]
mod health;
#[path = "node/lifecycle.rs"]
mod lifecycle;
#[path = "node/scene.rs"]
mod scene;
#[path = "node/spec.rs"]
mod spec;
