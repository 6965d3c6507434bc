//! Declared tenants: who belongs to them, and what they are permitted to do.
//!
//! ```text
//!  tenants file ──────────┐ documents                        ┌─▶ snapshot: issuers, namespaces, roots, limits
//!  VmafxTenant resources ─┴───────────▶ verdicts, by document ┤
//!                                                            └─▶ log (file) or status (resources)
//! ```
//!
//! Both sources yield the same documents, and all rules about them are in `verdict.rs`: an invalid tenant does not lock out
//! the others, tenants with the same name are all invalid, and a namespace that two of them list belongs to neither.

mod document;
mod file;
mod registry;
mod resources;
mod roots;
mod rules;
mod snapshot;
mod status;
mod tenant;
mod verdict;

pub(super) use self::file::TenantsFile;
pub(super) use self::registry::{TenantRegistry, TenantSource};
pub(super) use self::resources::TenantResources;
pub(super) use self::roots::TenantRoots;
pub use self::rules::TenantRules;
pub(super) use self::snapshot::{NamespaceOwner, TenantStanding};
