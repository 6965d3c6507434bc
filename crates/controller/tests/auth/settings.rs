//! Settings of authentication that are rejected at the start.

use rstest::rstest;
use vmafx_controller::auth::AuthMetrics;
use vmafx_controller::identity::{Role, Roles};
use vmafx_kit::metrics::Metrics;

use crate::issuer::{clock, open, open_with_metrics};

#[rstest]
#[case::nothing(
    &[],
    "authentication is not configured: set VMAFX_JWKS_ENDPOINT and VMAFX_AUTH_ISSUER for tokens of an issuer, \
     VMAFX_AUTH_TOKEN_FILE for static tokens, VMAFX_AUTH_TENANTS_SOURCE=file or kubernetes for several tenants, \
     or, for development only, VMAFX_AUTH_DISABLED=true"
)]
#[case::endpoint_without_issuer(
    &[("VMAFX_JWKS_ENDPOINT", "https://i/keys")],
    "VMAFX_JWKS_ENDPOINT is set, but VMAFX_AUTH_ISSUER is not"
)]
#[case::token_of_nobody(
    &[("VMAFX_JWKS_ENDPOINT", "https://i/keys"), ("VMAFX_JWKS_TOKEN_FILE", "/dev/null")],
    "/dev/null cannot be used (VMAFX_JWKS_TOKEN_FILE): it holds no JSON Web Token with an issuer: set VMAFX_AUTH_ISSUER"
)]
#[case::issuer_without_endpoint(
    &[("VMAFX_AUTH_ISSUER", "https://i")],
    "VMAFX_AUTH_ISSUER is set, but VMAFX_JWKS_ENDPOINT is not"
)]
#[case::endpoint_is_no_url(
    &[("VMAFX_JWKS_ENDPOINT", "keys"), ("VMAFX_AUTH_ISSUER", "i")],
    "VMAFX_JWKS_ENDPOINT cannot be \"keys\": it is not a URL"
)]
#[case::disabled_with_tenants(
    &[("VMAFX_AUTH_DISABLED", "true"), ("VMAFX_AUTH_TENANTS_SOURCE", "file"), ("VMAFX_AUTH_TENANTS_FILE", "/t")],
    "VMAFX_AUTH_DISABLED and VMAFX_AUTH_TENANTS_SOURCE are both set"
)]
#[case::roots_twice(
    &[("VMAFX_SCORING_ROOTS", "/data"), ("VMAFX_AUTH_TENANTS_SOURCE", "file"), ("VMAFX_AUTH_TENANTS_FILE", "/t")],
    "VMAFX_SCORING_ROOTS and VMAFX_AUTH_TENANTS_SOURCE are both set"
)]
#[case::issuers_twice(
    &[
        ("VMAFX_JWKS_ENDPOINT", "https://i/keys"), ("VMAFX_AUTH_ISSUER", "i"),
        ("VMAFX_AUTH_TENANTS_SOURCE", "file"), ("VMAFX_AUTH_TENANTS_FILE", "/t"),
    ],
    "VMAFX_JWKS_ENDPOINT and VMAFX_AUTH_TENANTS_SOURCE are both set"
)]
#[case::source(
    &[("VMAFX_AUTH_TENANTS_SOURCE", "ldap")],
    "VMAFX_AUTH_TENANTS_SOURCE cannot be \"ldap\": use file or kubernetes"
)]
#[case::resources_and_file(
    &[("VMAFX_AUTH_TENANTS_SOURCE", "kubernetes"), ("VMAFX_AUTH_TENANTS_FILE", "/t")],
    "VMAFX_AUTH_TENANTS_FILE is set, but VMAFX_AUTH_TENANTS_SOURCE=file is not"
)]
#[case::resources_and_an_issuer_that_names_no_tenants(
    &[
        ("VMAFX_AUTH_TENANTS_SOURCE", "kubernetes"),
        ("VMAFX_JWKS_ENDPOINT", "https://i/keys"), ("VMAFX_AUTH_ISSUER", "i"),
    ],
    "VMAFX_JWKS_ENDPOINT is set, but VMAFX_AUTH_SUBJECTS is not"
)]
#[case::roots_of_nobody(
    &[("VMAFX_AUTH_TENANTS_SOURCE", "kubernetes"), ("VMAFX_SCORING_ROOTS", "/data")],
    "VMAFX_SCORING_ROOTS is set, but VMAFX_AUTH_DEFAULT_TENANT is not"
)]
#[case::report_roots_of_nobody(
    &[("VMAFX_AUTH_TENANTS_SOURCE", "kubernetes"), ("VMAFX_REPORT_ROOTS", "/data")],
    "VMAFX_REPORT_ROOTS is set, but VMAFX_AUTH_DEFAULT_TENANT is not"
)]
#[case::subject_in_no_namespace(
    &[
        ("VMAFX_AUTH_TENANTS_SOURCE", "kubernetes"), ("VMAFX_JWKS_ENDPOINT", "https://i/keys"),
        ("VMAFX_AUTH_ISSUER", "i"), ("VMAFX_AUTH_SUBJECTS", "alice=vmafx:reader"),
    ],
    "VMAFX_AUTH_SUBJECTS cannot be \"alice=vmafx:reader\": \"alice\": it is in no namespace"
)]
#[case::source_without_file(
    &[("VMAFX_AUTH_TENANTS_SOURCE", "file")],
    "VMAFX_AUTH_TENANTS_SOURCE=file is set, but VMAFX_AUTH_TENANTS_FILE is not"
)]
#[case::file_without_source(
    &[("VMAFX_AUTH_TENANTS_FILE", "/t")],
    "VMAFX_AUTH_TENANTS_FILE is set, but VMAFX_AUTH_TENANTS_SOURCE=file is not"
)]
#[case::refresh(
    &[
        ("VMAFX_AUTH_TENANTS_SOURCE", "file"), ("VMAFX_AUTH_TENANTS_FILE", "/t"),
        ("VMAFX_AUTH_TENANTS_REFRESH", "2h"),
    ],
    "VMAFX_AUTH_TENANTS_REFRESH cannot be \"2h\": use a duration from 1s to 1h"
)]
#[case::subjects_without_tenant(
    &[("VMAFX_JWKS_ENDPOINT", "https://i/keys"), ("VMAFX_AUTH_ISSUER", "i"), ("VMAFX_AUTH_SUBJECTS", "x=vmafx:node")],
    "VMAFX_AUTH_SUBJECTS cannot be \"x=vmafx:node\": \"x\": it has no tenant: set VMAFX_AUTH_DEFAULT_TENANT"
)]
#[case::operator_without_tenants(
    &[
        ("VMAFX_JWKS_ENDPOINT", "https://i/keys"), ("VMAFX_AUTH_ISSUER", "i"),
        ("VMAFX_AUTH_OPERATOR_SUBJECT", "system:serviceaccount:vmafx:operator"),
    ],
    "VMAFX_AUTH_OPERATOR_SUBJECT is set, but VMAFX_AUTH_DEFAULT_TENANT is not"
)]
#[case::no_such_file(&[("VMAFX_AUTH_TOKEN_FILE", "/nowhere/t")], "cannot read /nowhere/t (VMAFX_AUTH_TOKEN_FILE)")]
#[case::roots(
    &[("VMAFX_AUTH_DISABLED", "true"), ("VMAFX_SCORING_ROOTS", "data")],
    "VMAFX_SCORING_ROOTS cannot be \"data\": it is neither"
)]
#[tokio::test]
async fn contradictory_or_incomplete_settings_are_rejected(
    #[case] settings: &[(&str, &str)],
    #[case] expected: &str,
) {
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let error = anyhow::Error::from(open(&settings, &clock()).await.err().unwrap());
    let found = error.chain().any(|cause| cause.to_string().starts_with(expected));
    assert!(found, "{error:#}");
}

#[tokio::test]
async fn without_authentication_everybody_is_admin_and_node_of_dev_and_a_metric_says_so() {
    let mut metrics = Metrics::new("0");
    let counts = AuthMetrics::new(&mut metrics);
    let settings = [("VMAFX_AUTH_DISABLED", "true".to_owned())];
    let access = open_with_metrics(&settings, &clock(), counts).await.unwrap();
    for bearer in [None, Some("anything")] {
        let identity = access.authenticator.authenticate(bearer).await.unwrap();
        assert_eq!(
            (identity.tenant.as_str(), identity.roles),
            ("dev", Roles::of(&[Role::Admin, Role::Node]))
        );
    }
    assert!(metrics.encode().unwrap().contains("vmafx_controller_auth_disabled 1\n"));
}
