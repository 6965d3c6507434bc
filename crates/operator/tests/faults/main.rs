//! The operator as a process, under the role that is made for it, while everything around it fails.
//!
//! All tests but those that stop servers share one control plane, one after the other: an operator works on the whole
//! cluster, and two of them would write each other's objects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod answers;
mod crash;
mod leaders;
mod operator;
mod outages;
mod permissions;
mod pod_job;
mod rest;
mod watches;
mod world;

use std::time::Duration;

/// For what takes a second or two; a busy machine may take longer.
pub(crate) const SOON: Duration = Duration::from_mins(1);
