//! The document of a tenant as its source yields it, before validation.

use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TenantDocument {
    /// Names the document in messages.
    pub(super) name: String,
    /// The fields of a `VmafxTenantSpec`.
    pub(super) spec: Value,
}

impl TenantDocument {
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
