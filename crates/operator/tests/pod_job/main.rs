//! Jobs with a Pod of their own, on a real API server with the real Job controller, reconciled by a real
//! `vmafx-operator` under its generated role.
//!
//! There is no kubelet: tests write the status of Pods as one would. Each test has a namespace of its own; all share one
//! cluster and one operator, which speaks through a proxy that counts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod changes;
mod ends;
mod kubelet;
mod ownership;
mod queue;
mod rest;
mod scene;
