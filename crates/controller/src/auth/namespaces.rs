//! The tenants of Kubernetes namespaces.

use http::HeaderMap;
use vmafx_proto::NAMESPACE_HEADER;
use vmafx_queue::TenantId;
use vmafx_queue::ids::IdError;

/// Stands for the namespace of a ServiceAccount, and in scoring roots for that of a job.
pub(crate) const PLACEHOLDER: &str = "{namespace}";

/// The name of a Kubernetes namespace is a DNS label.
const MAX_NAMESPACE_LENGTH: usize = 63;

/// The tenant of a namespace that no declared tenant lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceTenants {
    /// Each namespace is the tenant of its name.
    Each,
    /// All namespaces are one tenant.
    One(TenantId),
    /// Only namespaces that a declared tenant lists have a tenant.
    Declared,
}

impl NamespaceTenants {
    /// Parses the value of `VMAFX_AUTH_DEFAULT_TENANT`.
    pub(super) fn parse(value: &str) -> Result<Self, IdError> {
        if value == PLACEHOLDER { Ok(Self::Each) } else { TenantId::new(value).map(Self::One) }
    }

    /// Whether a tenant that is not declared exists.
    pub(super) fn has_undeclared(&self, tenant: &TenantId) -> bool {
        match self {
            Self::Each => true,
            Self::One(one) => one == tenant,
            Self::Declared => false,
        }
    }

    /// `None` if the text cannot be the name of a namespace.
    pub(super) fn tenant_of(&self, namespace: &str) -> Option<TenantId> {
        match self {
            Self::Each if is_namespace(namespace) => TenantId::new(namespace).ok(),
            Self::One(tenant) if is_namespace(namespace) => Some(tenant.clone()),
            _ => None,
        }
    }
}

/// The namespace that a call is for.
pub(super) fn of_call(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(NAMESPACE_HEADER).into_iter();
    let value = values.next()?;
    // A second value makes the call ambiguous, like one that is not text: neither names a namespace.
    Some(value.to_str().ok().filter(|_| values.next().is_none()).unwrap_or_default())
}

/// Whether the text can be the name of a namespace.
pub(super) fn is_namespace(text: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= MAX_NAMESPACE_LENGTH
        && bytes.iter().all(|byte| is_alphanumeric(*byte) || *byte == b'-')
        && bytes.first().is_some_and(|byte| is_alphanumeric(*byte))
        && bytes.last().is_some_and(|byte| is_alphanumeric(*byte))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::each("{namespace}", "studio-a", Some("studio-a"))]
    #[case::one("default", "studio-a", Some("default"))]
    #[case::capital("{namespace}", "Studio", None)]
    #[case::path("{namespace}", "..", None)]
    #[case::empty("{namespace}", "", None)]
    #[case::empty_in_one("default", "", None)]
    #[case::hyphen("{namespace}", "studio-", None)]
    #[case::long("{namespace}", "0123456789012345678901234567890123456789012345678901234567890123", None)]
    fn a_namespace_has_the_tenant_of_the_setting(
        #[case] setting: &str,
        #[case] namespace: &str,
        #[case] expected: Option<&str>,
    ) {
        let tenant = NamespaceTenants::parse(setting).unwrap().tenant_of(namespace);
        assert_eq!(tenant.as_ref().map(TenantId::as_str), expected);
    }
}
