//! What users do. Each is `async fn(&Platform, &mut Steps) -> Result<()>`, in a namespace of its own.

mod docs;
mod user;

pub use docs::docs;
pub use user::user;
