//! The scenarios. Each is an `async fn(&Platform, &mut Steps) -> Result<()>` in its own namespace.

mod docs;
mod embedded;
mod faults;
mod metrics;
mod network;
mod user;

pub use docs::docs;
pub use embedded::{clock_steps, restore};
pub use faults::{FaultRun, fault, faults};
pub use network::network;
pub use user::user;
