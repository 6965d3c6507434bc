//! Liveness and readiness of the process.
//!
//! `/healthz` answers as long as the process can answer at all. `/readyz` answers 200 while every readiness gate is
//! open and shutdown has not begun; otherwise its body lists the closed gates with their reasons, so that `0/1 READY`
//! can be explained without reading logs.

mod endpoint;
mod readiness;
mod serving;

pub use endpoint::router;
pub use readiness::{Readiness, ReadinessGate};
pub use serving::ServingSignal;
