//! Tenants with their own issuers.

mod file;
mod registry;
mod tenant;

pub(super) use self::registry::TenantRegistry;
