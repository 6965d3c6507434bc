//! The operator as a process, under its generated role, while requests, servers and watches fail.
//!
//! All tests but those that stop servers share one control plane, one after the other: an operator reconciles the whole
//! cluster, so two of them would write the same objects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod answers;
mod crash;
mod fixture;
mod idle;
mod leaders;
#[allow(dead_code, reason = "other tests use more of it")]
mod operator;
mod outages;
mod permissions;
mod pod_job;
mod watches;

use std::time::Duration;

pub(crate) use fixture::control_plane;

/// Timeout for everything that usually takes a second or two; a busy machine may take longer.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);
