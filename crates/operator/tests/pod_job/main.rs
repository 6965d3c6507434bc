//! Jobs in a Pod of their own, on a real API server with the real Job controller, reconciled by a real
//! `vmafx-operator` under its generated role.
//!
//! There is no kubelet: tests write the status of Pods as one would. Each test has a namespace of its own; all share one
//! cluster and one operator, whose requests pass through a proxy that counts them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod changes;
mod ends;
mod fixture;
mod kubelet;
mod obstacles;
mod ownership;
mod queue;
mod replaced;
mod writes;

#[path = "../faults/fixture/control_plane.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod control_plane;

#[path = "../support/resources.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod resources;

pub(crate) use resources::TIMEOUT;
