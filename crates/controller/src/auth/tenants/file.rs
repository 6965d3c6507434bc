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

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::document::TenantDocument;
use crate::auth::config_file::{self, ConfigFileError};

const FILE: &str = "VMAFX_AUTH_TENANTS_FILE";

#[derive(Debug)]
pub(crate) struct TenantsFile(pub(crate) PathBuf);

impl TenantsFile {
    pub(super) async fn read(&self) -> Result<Vec<TenantDocument>, ConfigFileError> {
        let text = config_file::read(&self.0, FILE).await?;
        parse(&text).map_err(|problem| self.refused(problem))
    }

    pub(super) fn refused(&self, problem: String) -> ConfigFileError {
        ConfigFileError::Content { variable: FILE, file: self.0.clone(), problem }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTenantFile {
    tenants: Vec<Value>,
}

fn parse(text: &str) -> Result<Vec<TenantDocument>, String> {
    let file: RawTenantFile = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let documents = (1..).zip(file.tenants).map(|(number, mut spec)| {
        drop_nulls(&mut spec);
        TenantDocument { name: format!("tenant {number}"), spec }
    });
    Ok(documents.collect())
}

/// A null is an absent field, as it is for the API server.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_named_by_their_position_and_have_no_nulls() {
        let documents = parse("tenants: [{tenantId: a, oidc: {audience: null}}, {enabled: }]").unwrap();
        let document = |name: &str, spec| TenantDocument { name: name.to_owned(), spec };
        assert_eq!(
            documents,
            [document("tenant 1", json!({"tenantId": "a", "oidc": {}})), document("tenant 2", json!({}))]
        );
    }

    #[test]
    fn a_file_without_a_list_of_tenants_is_refused() {
        for text in ["", "tenants: 7", "tenants: []\nmore: 1", "[]"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
