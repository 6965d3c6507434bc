//! VmafxJob on a real API server, with a real controller, reconciled by a real `vmafx-operator` under its generated role.
//! Nodes are clients of the controller that score nothing and report what a test asks for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod agent;
mod controller;
mod end;
mod faults;
mod full_store;
mod harness;
mod identities;
mod kubectl;
mod label;
#[allow(dead_code, reason = "other tests use more of it")]
#[path = "../faults/operator.rs"]
mod operator;
mod outages;
mod refused;
mod retried;
mod silence;
mod spec_changes;
mod sweep;
mod tenants;
mod update;
mod waiting;

#[path = "../faults/fixture/control_plane.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod control_plane;

#[path = "../support/resources.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod resources;

pub(crate) use resources::TIMEOUT;
