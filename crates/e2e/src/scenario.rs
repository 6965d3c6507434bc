//! What users do. Each is `async fn(&Platform, &mut Steps) -> Result<()>`, in a namespace of its own.

mod metrics;
mod network;
mod user;

pub use network::network;
pub use user::user;
