//! VmafxJob on a real API server, with a real controller, reconciled by a real `vmafx-operator` under the role that is
//! made for it. Nodes are clients of the controller that score nothing and say what a test tells them to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod agent;
mod controller;
mod end;
mod faults;
mod kubectl;
mod label;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../faults/operator.rs"]
mod operator;
mod steering;
mod waiting;
mod world;

use std::time::Duration;

/// For what takes a second or two; a busy machine may take longer.
pub(crate) const SOON: Duration = Duration::from_mins(1);
