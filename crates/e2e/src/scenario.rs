//! What users do. Each is `async fn(&Platform, &mut Steps) -> Result<()>`, in a namespace of its own.

mod faults;
mod user;

pub use faults::faults;
pub use user::user;
