//! A tenant: its document in the file, and its validated form.

use serde::Deserialize;
use serde_json::Value;
use vmafx_queue::TenantId;

use crate::auth::claims::RoleClaim;
use crate::auth::jwks::Endpoint;
use crate::auth::provider::ClaimNames;
use crate::auth::static_tokens::parse_roles;
use crate::identity::{Role, Roles};
use crate::roots::PermittedRoots;

/// Has the same fields as a `VmafxTenant`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TenantDocument {
    tenant_id: String,
    enabled: Option<bool>,
    oidc: Oidc,
    #[serde(default)]
    rbac: Rbac,
    #[serde(default)]
    scoring: RootList,
    /// Without roots, reports are inside the roots of `scoring`.
    #[serde(default)]
    reports: RootList,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Oidc {
    issuer: String,
    jwks_endpoint: String,
    audience: Option<String>,
    tenant_claim: Option<String>,
    roles_claim: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Rbac {
    default_role: Option<String>,
    allowed_roles: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RootList {
    #[serde(default)]
    roots: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Tenant {
    pub(super) id: TenantId,
    pub(super) enabled: bool,
    pub(super) issuer: String,
    pub(super) endpoint: Endpoint,
    pub(super) audience: Option<String>,
    pub(super) names: ClaimNames,
    allowed: Roles,
    default: Roles,
    pub(super) roots: PermittedRoots,
}

impl Tenant {
    pub(super) fn parse(value: Value) -> Result<Self, String> {
        let document: TenantDocument = serde_json::from_value(value).map_err(|error| error.to_string())?;
        if !is_valid_id(&document.tenant_id) {
            return Err("tenantId must be 2 to 64 lowercase letters, digits and inner hyphens".to_owned());
        }
        let id = TenantId::new(&document.tenant_id).map_err(|error| format!("tenantId: {error}"))?;
        let (allowed, default) = document.rbac.parse()?;
        let Oidc { issuer, jwks_endpoint, audience, tenant_claim, roles_claim } = document.oidc;
        if issuer.is_empty() {
            return Err("oidc.issuer is empty".to_owned());
        }
        let endpoint = jwks_endpoint.parse().map_err(|error| format!("oidc.jwksEndpoint: {error}"))?;
        let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        let names = ClaimNames {
            tenant: non_empty(tenant_claim).unwrap_or_else(|| "tid".to_owned()),
            roles: non_empty(roles_claim).unwrap_or_else(|| "vmafx_roles".to_owned()),
        };
        let roots = PermittedRoots::of_tenant(&document.scoring.roots, &document.reports.roots)
            .map_err(|(field, error)| format!("{field}: {:?}: {}", error.root, error.problem))?;
        let enabled = document.enabled.unwrap_or(true);
        Ok(Self {
            id,
            enabled,
            issuer,
            endpoint,
            audience: non_empty(audience),
            names,
            allowed,
            default,
            roots,
        })
    }

    /// The roles of the token that the tenant allows, or the default role if the token has no role claim.
    pub(super) fn roles(&self, claim: RoleClaim) -> Roles {
        match claim {
            RoleClaim::Roles(roles) => roles.intersection(self.allowed),
            RoleClaim::Absent => self.default,
        }
    }
}

impl Rbac {
    /// Returns the allowed and the default roles.
    fn parse(self) -> Result<(Roles, Roles), String> {
        let allowed = match self.allowed_roles {
            Some(names) => parse_roles(&names).map_err(|problem| format!("rbac.allowedRoles: {problem}"))?,
            None => Roles::of(&[Role::Reader, Role::Writer]),
        };
        let default = match self.default_role.filter(|name| !name.is_empty()) {
            // An implicit default that is not allowed is dropped; an explicit one is an error.
            None => Roles::of(&[Role::Reader]).intersection(allowed),
            Some(name) => {
                let default =
                    parse_roles(&[name]).map_err(|problem| format!("rbac.defaultRole: {problem}"))?;
                if default.intersects(Roles::of(&[Role::Node])) {
                    return Err("rbac.defaultRole must not be vmafx:node".to_owned());
                }
                if !default.intersects(allowed) {
                    return Err("rbac.defaultRole is not among rbac.allowedRoles".to_owned());
                }
                default
            }
        };
        Ok((allowed, default))
    }
}

/// `^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$`
fn is_valid_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = id.as_bytes();
    (2..=64).contains(&bytes.len())
        && bytes.iter().all(|byte| plain(*byte) || *byte == b'-')
        && bytes.first().is_some_and(|byte| plain(*byte))
        && bytes.last().is_some_and(|byte| plain(*byte))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::service::Roots as _;

    fn with(field: &str, value: Value) -> Value {
        let mut document = json!({
            "tenantId": "acme",
            "oidc": {"issuer": "https://i", "jwksEndpoint": "https://i/keys"},
        });
        document[field] = value;
        document
    }

    #[test]
    fn absent_fields_have_defaults() {
        let tenant = Tenant::parse(with("enabled", Value::Null)).unwrap();
        assert!(tenant.enabled);
        assert_eq!((tenant.names.tenant.as_str(), tenant.names.roles.as_str()), ("tid", "vmafx_roles"));
        assert_eq!(tenant.roles(RoleClaim::Absent), Roles::of(&[Role::Reader]));
        assert!(tenant.roots.of(&tenant.id).is_empty());
        assert!(!Tenant::parse(with("enabled", json!(false))).unwrap().enabled);
    }

    #[rstest]
    #[case::filtered(json!({}), RoleClaim::Roles(Roles::of(&Role::ALL)), &[Role::Reader, Role::Writer])]
    #[case::nothing_left(json!({}), RoleClaim::Roles(Roles::of(&[Role::Admin])), &[])]
    #[case::unknown_role_is_not_absent(json!({}), RoleClaim::Roles(Roles::NONE), &[])]
    #[case::default(json!({"defaultRole": "vmafx:writer"}), RoleClaim::Absent, &[Role::Writer])]
    #[case::default_not_allowed(json!({"allowedRoles": ["vmafx:node"]}), RoleClaim::Absent, &[])]
    #[case::node(json!({"allowedRoles": ["vmafx:node"]}), RoleClaim::Roles(Roles::of(&Role::ALL)), &[Role::Node])]
    fn roles_are_those_the_tenant_allows(
        #[case] rbac: Value,
        #[case] claim: RoleClaim,
        #[case] expected: &[Role],
    ) {
        assert_eq!(Tenant::parse(with("rbac", rbac)).unwrap().roles(claim), Roles::of(expected));
    }

    #[rstest]
    #[case::unknown_field(with("more", json!(1)), "unknown field `more`")]
    #[case::unknown_inner(with("rbac", json!({"role": 1})), "unknown field `role`")]
    #[case::capital(with("tenantId", json!("Acme")), "tenantId must be")]
    #[case::one_letter(with("tenantId", json!("a")), "tenantId must be")]
    #[case::hyphen(with("tenantId", json!("acme-")), "tenantId must be")]
    #[case::path(with("tenantId", json!("..")), "tenantId must be")]
    #[case::enabled_as_text(with("enabled", json!("false")), "invalid type")]
    #[case::no_issuer(with("oidc", json!({"jwksEndpoint": "https://i"})), "missing field `issuer`")]
    #[case::endpoint(with("oidc", json!({"issuer": "i", "jwksEndpoint": "keys"})), "oidc.jwksEndpoint: it is not a URL")]
    #[case::node_by_default(
        with("rbac", json!({"defaultRole": "vmafx:node", "allowedRoles": ["vmafx:node"]})),
        "must not be vmafx:node"
    )]
    #[case::default_not_allowed(with("rbac", json!({"defaultRole": "vmafx:admin"})), "not among rbac.allowedRoles")]
    #[case::unknown_role(with("rbac", json!({"allowedRoles": ["root"]})), "\"root\" is not one of")]
    #[case::root(with("scoring", json!({"roots": ["data"]})), "scoring.roots: \"data\": it is neither")]
    fn an_invalid_tenant_is_refused(#[case] document: Value, #[case] expected: &str) {
        let problem = Tenant::parse(document).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }
}
