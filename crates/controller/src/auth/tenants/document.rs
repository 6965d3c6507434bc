//! The document of a tenant as its source yields it, before validation.

use serde_json::Value;

use super::tenant::InvalidTenant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentSource {
    File,
    Resource,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TenantDocument {
    pub(super) source: DocumentSource,
    /// Names the document in messages.
    pub(super) name: String,
    /// The fields of a `VmafxTenantSpec`.
    pub(super) spec: Value,
}

impl TenantDocument {
    /// Refuses what has no effect in a document of this source.
    pub(super) fn check_source(&self) -> Result<(), InvalidTenant> {
        match self.source {
            DocumentSource::File if self.namespaces().next().is_some() => Err(InvalidTenant::new(
                "namespaces",
                "a tenants file excludes the tokens of ServiceAccounts: use VMAFX_AUTH_TENANTS_SOURCE=kubernetes",
            )),
            DocumentSource::File | DocumentSource::Resource => Ok(()),
        }
    }

    /// The name of the tenant, also of an invalid one.
    pub(super) fn tenant_id(&self) -> Option<&str> {
        self.spec.get("tenantId")?.as_str()
    }

    /// The namespaces that the document lists, also if it is invalid: they must not fall back to another tenant because of a
    /// mistake in another field.
    pub(super) fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.spec.get("namespaces").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}
