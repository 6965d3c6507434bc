//! Tenants with an issuer each.

mod file;
mod registry;
mod tenant;

pub(super) use self::registry::Registry;
