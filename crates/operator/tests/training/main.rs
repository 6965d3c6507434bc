//! VmafxModelTraining on a real API server with the real built-in controllers, reconciled by a real `vmafx-operator` under
//! the role that is made for it. Trainers are a web server that says what a test wants.
//!
//! There is no kubelet: Pods exist and are never ready. An operator works on the whole cluster, so tests take turns.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod answers;
mod checkpoints;
mod lifecycle;
mod rest;
mod trainers;
mod world;

#[path = "../faults/operator.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod operator;

#[path = "../faults/world/plane.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod plane;

use std::time::Duration;

/// For what takes a second or two; a busy machine may take longer.
pub(crate) const SOON: Duration = Duration::from_mins(1);
