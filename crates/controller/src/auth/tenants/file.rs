//! The tenants of a file.
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
struct File {
    tenants: Vec<Value>,
}

/// Good tenants, and what is wrong with the others.
pub(super) struct Contents {
    pub(super) tenants: Vec<Tenant>,
    pub(super) problems: Vec<String>,
}

/// Reads a file. Each tenant stands for itself: one that is wrong does not lock out the others, and of a name that
/// is there twice nobody can say who is meant, so no copy counts.
pub(super) fn read(text: &str) -> Result<Contents, String> {
    let file: File = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let mut problems = Vec::new();
    let mut by_name: BTreeMap<String, Vec<Tenant>> = BTreeMap::new();
    for (number, value) in (1..).zip(file.tenants) {
        match Tenant::read(value) {
            Ok(tenant) => by_name.entry(tenant.id.to_string()).or_default().push(tenant),
            Err(problem) => problems.push(format!("tenant {number}: {problem}")),
        }
    }
    let mut tenants = Vec::new();
    for (name, mut copies) in by_name {
        match (copies.pop(), copies.is_empty()) {
            (Some(only), true) => tenants.push(only),
            _ => problems.push(format!("tenant {name:?} is there more than once")),
        }
    }
    Ok(Contents { tenants, problems })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str) -> String {
        format!("- {{tenantId: {name}, oidc: {{issuer: 'https://i', jwksEndpoint: 'https://i/k'}}}}\n")
    }

    #[test]
    fn what_is_wrong_or_double_is_left_out_and_told() {
        let text = format!("tenants:\n{}{}{}{}", one("good"), one("twice"), one("BAD"), one("twice"));
        let contents = read(&text).unwrap();
        let names: Vec<_> = contents.tenants.iter().map(|tenant| tenant.id.as_str()).collect();
        assert_eq!(names, ["good"]);
        assert_eq!(
            contents.problems,
            [
                "tenant 3: tenantId must be 2 to 64 small letters, digits and inner hyphens",
                "tenant \"twice\" is there more than once"
            ]
        );
    }

    #[test]
    fn what_is_no_list_of_tenants_is_refused() {
        for text in ["", "tenants: 7", "tenants: []\nmore: 1", "[]"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
