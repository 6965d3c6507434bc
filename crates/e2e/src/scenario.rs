//! The scenarios. Each is an `async fn(&Platform, &mut Steps) -> Result<()>` in its own namespace.

mod docs;
mod faults;
mod metrics;
mod network;
mod user;

pub use docs::docs;
pub use faults::{FaultRun, UpgradeRun, clock_steps, fault, faults, random, restore, upgrade};
pub use network::network;
pub use user::user;
