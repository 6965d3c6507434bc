//! What users do. Each is `async fn(&Platform, &mut Steps) -> Result<()>`, in a namespace of its own.

mod docs;
mod faults;
mod metrics;
mod network;
mod user;

pub use docs::docs;
pub use faults::faults;
pub use network::network;
pub use user::user;
