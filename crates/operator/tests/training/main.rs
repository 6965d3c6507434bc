//! VmafxModelTraining on a real API server with the real built-in controllers, reconciled by a real `vmafx-operator` under
//! its generated role. All trainers are one HTTP server, whose reports a test sets.
//!
//! There is no kubelet: Pods exist and are never ready. An operator works on the whole cluster, so tests take turns.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod answers;
mod checkpoints;
mod fixture;
mod idle;
mod lifecycle;
mod trainers;

#[path = "../faults/operator.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod operator;

#[path = "../faults/fixture/control_plane.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod control_plane;

#[path = "../support/resources.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod resources;

pub(crate) use resources::TIMEOUT;
