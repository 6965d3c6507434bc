//! The tenants file.
//!
//! ```yaml
//! tenants:
//!   - tenantId: acme
//!     enabled: true
//!     oidc: {issuer: https://login.acme.example, jwksEndpoint: https://login.acme.example/keys}
//!     rbac: {allowedRoles: [vmafx:reader, vmafx:writer, vmafx:node]}
//!     scoring: {roots: [s3://acme-clips]}
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::tenant::Tenant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTenantFile {
    tenants: Vec<Value>,
}

/// The valid tenants, and what is wrong with the others.
pub(super) struct TenantFile {
    pub(super) tenants: Vec<Tenant>,
    pub(super) problems: Vec<String>,
}

/// An invalid tenant does not lock out the others. Tenants with the same name are all invalid, because it is unknown
/// which one is meant.
pub(super) fn parse(text: &str) -> Result<TenantFile, String> {
    let file: RawTenantFile = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let mut problems = Vec::new();
    let mut by_name: BTreeMap<String, Vec<Tenant>> = BTreeMap::new();
    for (number, value) in (1..).zip(file.tenants) {
        match Tenant::parse(value) {
            Ok(tenant) => by_name.entry(tenant.id.to_string()).or_default().push(tenant),
            Err(problem) => problems.push(format!("tenant {number}: {problem}")),
        }
    }
    let mut tenants = Vec::new();
    for (name, mut copies) in by_name {
        match (copies.pop(), copies.is_empty()) {
            (Some(only), true) => tenants.push(only),
            _ => problems.push(format!("tenant {name:?} is listed more than once")),
        }
    }
    Ok(TenantFile { tenants, problems })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str) -> String {
        format!("- {{tenantId: {name}, oidc: {{issuer: 'https://i', jwksEndpoint: 'https://i/k'}}}}\n")
    }

    #[test]
    fn invalid_and_duplicate_tenants_are_skipped_and_reported() {
        let text = format!("tenants:\n{}{}{}{}", one("good"), one("twice"), one("BAD"), one("twice"));
        let contents = parse(&text).unwrap();
        let names: Vec<_> = contents.tenants.iter().map(|tenant| tenant.id.as_str()).collect();
        assert_eq!(names, ["good"]);
        assert_eq!(
            contents.problems,
            [
                "tenant 3: tenantId must be 2 to 64 lowercase letters, digits and inner hyphens",
                "tenant \"twice\" is listed more than once"
            ]
        );
    }

    #[test]
    fn a_file_without_a_list_of_tenants_is_refused() {
        for text in ["", "tenants: 7", "tenants: []\nmore: 1", "[]"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
