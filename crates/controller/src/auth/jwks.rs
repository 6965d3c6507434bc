//! The JSON Web Key Set of an issuer.

mod cache;
mod fetch;
mod guard;
mod key_set;

pub(super) use self::cache::{KeyCache, UsableKeys};
pub(super) use self::fetch::{Endpoint, Fetcher};
