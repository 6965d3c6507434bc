//! A tenant: the validated form of its document.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use vmafx_api::VmafxTenantSpec;
use vmafx_api::tenant::{TenantOidc, TenantQuota, TenantRbac, defaults};
use vmafx_job::TenantLimit;
use vmafx_queue::TenantId;

use crate::auth::claims::RoleClaim;
use crate::auth::jwks::Endpoint;
use crate::auth::namespaces;
use crate::auth::provider::ClaimNames;
use crate::auth::static_tokens::parse_roles;
use crate::identity::{Role, Roles};
use crate::roots::{self, PermittedRoots};
use crate::service::Weight;

/// Why a document is no tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidTenant {
    /// Path of the field below the spec; empty if the problem names it.
    pub(super) field: &'static str,
    pub(super) problem: String,
}

impl InvalidTenant {
    pub(super) fn new(field: &'static str, problem: impl fmt::Display) -> Self {
        Self { field, problem: problem.to_string() }
    }
}

/// The issuer of a tenant's callers.
#[derive(Clone, Debug)]
pub(super) struct OidcRules {
    pub(super) issuer: String,
    pub(super) endpoint: Endpoint,
    pub(super) audience: Option<String>,
    pub(super) names: ClaimNames,
}

#[derive(Clone, Debug)]
pub(super) struct Tenant {
    pub(super) id: TenantId,
    pub(super) enabled: bool,
    pub(super) oidc: Option<OidcRules>,
    allowed: Roles,
    default: Roles,
    pub(super) roots: PermittedRoots,
    /// The limits that the tenant has instead of those of the settings.
    pub(super) quota: Vec<(TenantLimit, u64)>,
    pub(super) weight: Option<Weight>,
}

impl Tenant {
    pub(super) fn parse(spec: &Value) -> Result<Self, InvalidTenant> {
        let spec = VmafxTenantSpec::deserialize(spec).map_err(|error| InvalidTenant::new("", error))?;
        if !is_valid_id(&spec.tenant_id) {
            let problem = "must be 2 to 64 lowercase letters, digits and inner hyphens";
            return Err(InvalidTenant::new("tenantId", problem));
        }
        let id = TenantId::new(&spec.tenant_id).map_err(|error| InvalidTenant::new("tenantId", error))?;
        let (allowed, default) = parse_rbac(&spec.rbac)?;
        if spec.oidc.is_none() && spec.namespaces.is_empty() {
            let problem = "set oidc, namespaces or both: otherwise no caller belongs to the tenant";
            return Err(InvalidTenant::new("", problem));
        }
        if let Some(name) = spec.namespaces.iter().find(|name| !namespaces::is_namespace(name)) {
            return Err(InvalidTenant::new("namespaces", format!("{name:?} is not the name of a namespace")));
        }
        let oidc = spec.oidc.map(OidcRules::parse).transpose()?;
        let roots = |field, roots: &[String]| {
            roots::of_tenant(roots, &spec.namespaces).map_err(|problem| InvalidTenant::new(field, problem))
        };
        let roots = PermittedRoots {
            clips: roots("scoring.roots", &spec.scoring.roots)?,
            reports: roots("reports.roots", &spec.reports.roots)?,
        };
        let (quota, weight) = (parse_quota(&spec.quota)?, spec.weight.map(parse_weight).transpose()?);
        Ok(Self { id, enabled: spec.enabled, oidc, allowed, default, roots, quota, weight })
    }

    /// The roles of the token that the tenant allows, or the default role if the token has no role claim.
    pub(super) fn roles(&self, claim: RoleClaim) -> Roles {
        match claim {
            RoleClaim::Roles(roles) => roles.intersection(self.allowed),
            RoleClaim::Absent => self.default,
        }
    }
}

impl OidcRules {
    fn parse(oidc: TenantOidc) -> Result<Self, InvalidTenant> {
        let TenantOidc { issuer, jwks_endpoint, audience, tenant_claim, roles_claim } = oidc;
        if issuer.is_empty() {
            return Err(InvalidTenant::new("oidc.issuer", "is empty"));
        }
        let endpoint =
            jwks_endpoint.parse().map_err(|error| InvalidTenant::new("oidc.jwksEndpoint", error))?;
        let or = |name: String, default: fn() -> String| if name.is_empty() { default() } else { name };
        let names = ClaimNames {
            tenant: or(tenant_claim, defaults::tenant_claim),
            roles: or(roles_claim, defaults::roles_claim),
        };
        Ok(Self { issuer, endpoint, audience: audience.filter(|text| !text.is_empty()), names })
    }
}

/// Returns the allowed and the default roles.
fn parse_rbac(rbac: &TenantRbac) -> Result<(Roles, Roles), InvalidTenant> {
    let allowed = parse_roles(&rbac.allowed_roles)
        .map_err(|problem| InvalidTenant::new("rbac.allowedRoles", problem))?;
    let name = Some(rbac.default_role.as_str()).filter(|name| !name.is_empty());
    let name = name.unwrap_or(defaults::DEFAULT_ROLE);
    let default = parse_roles(&[name]).map_err(|problem| InvalidTenant::new("rbac.defaultRole", problem))?;
    if default.intersects(Roles::of(&[Role::Node])) {
        return Err(InvalidTenant::new("rbac.defaultRole", "must not be vmafx:node"));
    }
    // The API server fills in the default, so whether somebody wrote it cannot be told; it is not granted.
    if !default.intersects(allowed) && name != defaults::DEFAULT_ROLE {
        return Err(InvalidTenant::new("rbac.defaultRole", "is not among rbac.allowedRoles"));
    }
    Ok((allowed, default.intersection(allowed)))
}

fn parse_quota(quota: &TenantQuota) -> Result<Vec<(TenantLimit, u64)>, InvalidTenant> {
    let parse = |(limit, value): (TenantLimit, i64)| match u64::try_from(value) {
        Ok(value) => Ok((limit, value)),
        Err(_) => Err(InvalidTenant::new("quota", format!("{limit} is {value}; use 0 or more"))),
    };
    quota.limits().map(parse).collect()
}

fn parse_weight(weight: i32) -> Result<Weight, InvalidTenant> {
    let parsed = u32::try_from(weight).ok().and_then(Weight::new);
    let problem = || format!("{weight} is not a weight; use a number from 1 to {}", Weight::MAX);
    parsed.ok_or_else(|| InvalidTenant::new("weight", problem()))
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
        let tenant = Tenant::parse(&with("enabled", json!(true))).unwrap();
        let names = &tenant.oidc.as_ref().unwrap().names;
        assert_eq!((names.tenant.as_str(), names.roles.as_str()), ("tid", "vmafx_roles"));
        assert_eq!(tenant.roles(RoleClaim::Absent), Roles::of(&[Role::Reader]));
        assert!(tenant.enabled && tenant.roots.of(&tenant.id).is_empty());
        assert!(tenant.roots.of_reports(&tenant.id).is_empty());
        assert!(!Tenant::parse(&with("enabled", json!(false))).unwrap().enabled);
    }

    #[test]
    fn the_namespaces_of_a_root_are_those_of_the_tenant() {
        let mut spec = with("namespaces", json!(["web", "tv"]));
        spec["scoring"] = json!({"roots": ["s3://clips/{tenant}/{namespace}", "/media"]});
        spec["reports"] = json!({"roots": ["s3://reports/{namespace}"]});
        let Tenant { id, roots, .. } = Tenant::parse(&spec).unwrap();
        assert_eq!(roots.of(&id), ["s3://clips/acme/web", "s3://clips/acme/tv", "/media"]);
        assert_eq!(roots.of_reports(&id), ["s3://reports/web", "s3://reports/tv"]);
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
        assert_eq!(Tenant::parse(&with("rbac", rbac)).unwrap().roles(claim), Roles::of(expected));
    }

    #[rstest]
    #[case::unknown_field(with("more", json!(1)), "unknown field `more`")]
    #[case::unknown_inner(with("rbac", json!({"role": 1})), "unknown field `role`")]
    #[case::capital(with("tenantId", json!("Acme")), "tenantId: must be 2 to 64")]
    #[case::one_letter(with("tenantId", json!("a")), "must be 2 to 64")]
    #[case::hyphen(with("tenantId", json!("acme-")), "must be 2 to 64")]
    #[case::path(with("tenantId", json!("..")), "must be 2 to 64")]
    #[case::enabled_as_text(with("enabled", json!("false")), "invalid type")]
    #[case::no_issuer(with("oidc", json!({"jwksEndpoint": "https://i"})), "missing field `issuer`")]
    #[case::endpoint(with("oidc", json!({"issuer": "i", "jwksEndpoint": "keys"})), "oidc.jwksEndpoint: it is not a URL")]
    #[case::node_by_default(
        with("rbac", json!({"defaultRole": "vmafx:node", "allowedRoles": ["vmafx:node"]})),
        "must not be vmafx:node"
    )]
    #[case::default_not_allowed(with("rbac", json!({"defaultRole": "vmafx:admin"})), "rbac.defaultRole: is not among rbac.allowedRoles")]
    #[case::unknown_role(with("rbac", json!({"allowedRoles": ["root"]})), "rbac.allowedRoles: roles: \"root\" is not one of")]
    #[case::nobody(json!({"tenantId": "acme", "namespaces": []}), "set oidc, namespaces or both")]
    #[case::namespace(with("namespaces", json!(["a/b"])), "namespaces: \"a/b\" is not the name of a namespace")]
    #[case::root_of_no_namespace(
        with("scoring", json!({"roots": ["/clips/{namespace}"]})),
        "scoring.roots: \"/clips/{namespace}\": {namespace} stands for the tenant's namespaces, and it lists none"
    )]
    #[case::root(with("scoring", json!({"roots": ["data"]})), "scoring.roots: \"data\": it is neither")]
    #[case::quota(with("quota", json!({"runningJobs": -1})), "quota: runningJobs is -1; use 0 or more")]
    #[case::weight(with("weight", json!(0)), "weight: 0 is not a weight; use a number from 1 to 1000")]
    #[case::report_root(with("reports", json!({"roots": ["data"]})), "reports.roots: \"data\": it is neither")]
    fn an_invalid_tenant_is_refused(#[case] document: Value, #[case] expected: &str) {
        let InvalidTenant { field, problem } = Tenant::parse(&document).unwrap_err();
        let problem = format!("{field}: {problem}");
        assert!(problem.contains(expected), "{problem}");
    }
}
