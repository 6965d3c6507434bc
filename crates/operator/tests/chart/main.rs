//! The chart: Helm renders every values file in `ci`, a real API server checks the objects in a dry run, and the programs'
//! own settings parse the environment variables and arguments of the containers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod crds;
mod environment;
mod helm;
mod monitoring;
mod policies;
mod promtool;
mod server;
mod tls;

use rstest::rstest;

use crate::helm::Chart;

#[rstest]
#[case::unknown("operator.replicas=2", "additional properties 'replicas' not allowed")]
#[case::unknown_at_the_top("replicaCount=2", "additional properties 'replicaCount' not allowed")]
#[case::wrong_store("controller.store.backend=mysql", "value must be one of 'sqlite', 'postgres'")]
#[case::wrong_duration("operator.nodeDrain=soon", "does not match pattern")]
#[case::wrong_role("auth.subjects.me={root}", "value must be one of")]
#[case::two_on_one_file(
    "controller.replicas=2",
    "more than one controller needs controller.store.backend=postgres"
)]
#[case::no_database("controller.store.backend=postgres", "name the Secret with the URL of the database")]
#[case::no_controller("controller.enabled=false", "say where the controller is")]
#[case::tenant("auth.tenant=Studio", "does not match pattern")]
#[case::weight("auth.tenantWeights.studio=0", "minimum: got 0, want 1")]
#[case::pool_without_guests("auth.sharedPools.pool={}", "does not match pattern")]
#[case::no_tenant("auth.tenant=", "name a tenant, or set auth.tenantsSource=kubernetes")]
#[case::other_tenants("auth.tenantsSource=file", "value must be one of '', 'kubernetes'")]
#[case::tenants_of_everybody(
    "auth.tenantsSource=kubernetes,auth.disabled=true",
    "leave it empty if auth.disabled is true"
)]
#[case::roots_of_nobody(
    "auth.tenantsSource=kubernetes,auth.tenant=,controller.scoringRoots={/media}",
    "each VmafxTenant has spec.scoring.roots"
)]
#[case::report_roots_of_nobody(
    "auth.tenantsSource=kubernetes,auth.tenant=,controller.reportRoots={/reports}",
    "each VmafxTenant has spec.reports.roots"
)]
#[case::keys_without_issuer("auth.jwksEndpoint=https://issuer.example.com/keys", "say who signs the tokens")]
#[case::half_an_address("operator.controllerAddress.grpc=c:1", "set grpc and http together")]
#[case::certificates_without_webhook(
    "operator.webhook.certManager.enabled=true",
    "set operator.webhook.enabled=true too"
)]
#[case::plain_text_twice("tls.enabled=false,tls.acceptPlainText=true", "needs tls.enabled=true")]
#[case::two_certificates("tls.secretName=a,tls.certManager.enabled=true", "set either tls.secretName or")]
#[case::authorities_of_its_own("operator.controllerAddress.caSecret=a", "not part of this release")]
fn invalid_values_are_refused_with_advice(#[case] set: &str, #[case] text: &str) {
    let message = Chart::refused(&["--set", "operator.enabled=true", "--set", set]);
    assert!(message.contains(text), "{message}");
}

#[test]
fn a_controller_without_an_operator_needs_a_certificate_or_a_decision_for_plain_text() {
    let alone = ["--set", "controller.enabled=true"];
    let message = Chart::refused(&alone);
    let advice = "set tls.secretName, or tls.certManager.enabled=true, or tls.enabled=false for plain text";
    assert!(message.contains(advice), "{message}");
    for set in ["tls.secretName=mine", "tls.certManager.enabled=true", "tls.enabled=false"] {
        let values = Chart::values("definitions-only");
        Chart::render_with(&values, "ns", &["controller.enabled=true", set]);
    }
}

#[test]
fn helm_lint_finds_no_problem() {
    for values in Chart::combinations() {
        Chart::lint(&values);
    }
}

#[test]
fn disabled_components_are_not_rendered() {
    assert_eq!(Chart::render(&Chart::values("definitions-only"), "ns"), Vec::<serde_json::Value>::new());
}
