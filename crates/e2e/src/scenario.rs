//! What users do. Each is `async fn(&Platform, &mut Steps) -> Result<()>`, in a namespace of its own.

mod user;

pub use user::user;
