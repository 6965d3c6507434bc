//! The controller's certificate and its authorities, on a real API server and a real controller.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod client_secrets;
mod fixture;
mod issued;
mod mutual;
mod served;

#[path = "../support/clock.rs"]
mod clock;
