//! The keys of an issuer.

mod fetch;
mod keys;
mod set;

pub(super) use self::fetch::{Endpoint, Fetcher};
pub(super) use self::keys::{Found, Keys};
