//! Whether the process is alive, and whether it can do its work.
//!
//! `/healthz` answers as long as the process can answer at all. `/readyz` is the sum of named gates, and its body
//! says which are closed and why: whoever sees `0/1 READY` should not have to read logs to learn the reason.

mod endpoint;
mod readiness;

pub use endpoint::router;
pub use readiness::{Gate, Readiness};
