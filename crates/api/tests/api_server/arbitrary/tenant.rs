use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use vmafx_api::conditions::TenantCondition;
use vmafx_api::tenant::{TenantOidc, TenantQuota, TenantRbac, TenantReports, TenantScoring};
use vmafx_api::{VmafxTenantSpec, VmafxTenantStatus};

use super::{conditions, text};

pub(crate) fn tenant() -> impl Strategy<Value = (VmafxTenantSpec, VmafxTenantStatus)> {
    (spec(), status())
}

fn spec() -> impl Strategy<Value = VmafxTenantSpec> {
    let roots = || vec("[a-z0-9]\\PC{0,40}", 0..4);
    let scoring = roots().prop_map(|roots| TenantScoring { roots });
    let reports = roots().prop_map(|roots| TenantReports { roots });
    // One of the two is required.
    let callers = (option::of(oidc()), namespaces())
        .prop_filter("nobody would belong to it", |(oidc, namespaces)| {
            oidc.is_some() || !namespaces.is_empty()
        });
    let shares = (quota(), option::of(1..=1000));
    ("[a-z0-9][a-z0-9-]{0,20}[a-z0-9]", any::<bool>(), callers, rbac(), scoring, reports, shares).prop_map(
        |(tenant_id, enabled, (oidc, namespaces), rbac, scoring, reports, (quota, weight))| VmafxTenantSpec {
            tenant_id,
            enabled,
            oidc,
            namespaces: namespaces.into_iter().collect(),
            rbac,
            scoring,
            reports,
            quota,
            weight,
        },
    )
}

fn quota() -> impl Strategy<Value = TenantQuota> {
    vec(option::of(0..=i64::MAX), 6).prop_map(|limits| TenantQuota {
        pending_jobs: limits[0],
        running_jobs: limits[1],
        stored_bytes: limits[2],
        nodes: limits[3],
        streams: limits[4],
        streams_per_identity: limits[5],
    })
}

fn namespaces() -> impl Strategy<Value = BTreeSet<String>> {
    btree_set("[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", 0..4)
}

fn oidc() -> impl Strategy<Value = TenantOidc> {
    let url = "https://[a-z]{1,10}(\\.[a-z]{1,10}){0,2}(/[a-z0-9]{1,10}){0,2}";
    (url, url, option::of(text()), text(), text()).prop_map(
        |(issuer, jwks_endpoint, audience, tenant_claim, roles_claim)| TenantOidc {
            issuer,
            jwks_endpoint,
            audience,
            tenant_claim,
            roles_claim,
        },
    )
}

fn rbac() -> impl Strategy<Value = TenantRbac> {
    let roles = ["vmafx:reader", "vmafx:writer", "vmafx:admin", "vmafx:node"].map(str::to_owned).to_vec();
    let default = select(roles[..3].to_vec());
    (default, subsequence(roles, 0..=4))
        .prop_map(|(default_role, allowed_roles)| TenantRbac { default_role, allowed_roles })
}

fn status() -> impl Strategy<Value = VmafxTenantStatus> {
    let types = TenantCondition::ALL.iter().map(|c| c.as_str()).collect();
    (option::of(any::<i64>()), conditions(types))
        .prop_map(|(observed_generation, conditions)| VmafxTenantStatus { observed_generation, conditions })
}
