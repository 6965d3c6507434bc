//! Each namespace as a tenant, and the operator, which calls for all of them.

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use rstest::rstest;
use tower::ServiceExt;
use vmafx_controller::auth::middleware::CallAuthorizer;
use vmafx_controller::auth::{AuthMetrics, AuthOutcome};

use crate::gate::router;
use crate::issuer::{Issuer, clock, open_with_metrics};
use crate::subjects::service_account;

const OPERATOR: &str = "system:serviceaccount:vmafx-system:vmafx-operator";
const WRITER: &str = "system:serviceaccount:studio-a:submitter";
const NAMESPACE: &str = "vmafx-namespace";

fn settings(issuer: &Issuer, tenant: &str) -> Vec<(&'static str, String)> {
    let mut settings = issuer.settings();
    settings.push(("VMAFX_AUTH_SUBJECTS", format!("{OPERATOR}=vmafx:writer,{WRITER}=vmafx:writer")));
    settings.push(("VMAFX_AUTH_DEFAULT_TENANT", tenant.to_owned()));
    settings.push(("VMAFX_AUTH_OPERATOR_SUBJECT", OPERATOR.to_owned()));
    settings
}

/// Status and body of a call, whose handler answers with the tenant; and how many calls were refused for their namespace.
async fn call(tenant: &str, subject: &str, namespaces: &[&str]) -> (u16, String, u64) {
    let issuer = Issuer::start().await;
    let metrics = AuthMetrics::default();
    let access = open_with_metrics(&settings(&issuer, tenant), &clock(), metrics.clone()).await.unwrap();
    let gate = CallAuthorizer::new(access.authenticator);
    let token = service_account(&issuer, subject);
    let mut request = Request::get("/v1/jobs").header("authorization", format!("Bearer {token}"));
    for namespace in namespaces {
        request = request.header(NAMESPACE, *namespace);
    }
    let response = router(gate).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned(), metrics.calls(AuthOutcome::Namespace))
}

#[rstest]
#[case::operator("{namespace}", OPERATOR, &["studio-b"], "studio-b")]
#[case::operator_for_itself("{namespace}", OPERATOR, &[], "vmafx-system")]
#[case::operator_of_one_tenant("default", OPERATOR, &["studio-b"], "default")]
#[case::writer("{namespace}", WRITER, &[], "studio-a")]
#[case::writer_of_one_tenant("default", WRITER, &[], "default")]
#[tokio::test]
async fn a_call_has_the_tenant_of_its_namespace(
    #[case] setting: &str,
    #[case] subject: &str,
    #[case] namespaces: &[&str],
    #[case] expected: &str,
) {
    assert_eq!(call(setting, subject, namespaces).await, (200, expected.to_owned(), 0));
}

#[rstest]
#[case::neighbour("{namespace}", WRITER, &["studio-b"])]
#[case::its_own("{namespace}", WRITER, &["studio-a"])]
#[case::in_one_tenant("default", WRITER, &["studio-b"])]
#[case::no_namespace("{namespace}", OPERATOR, &["../studio-b"])]
#[case::empty("{namespace}", OPERATOR, &[""])]
#[case::two("{namespace}", OPERATOR, &["studio-a", "studio-b"])]
#[tokio::test]
async fn only_the_operator_calls_for_a_namespace_and_names_one(
    #[case] setting: &str,
    #[case] subject: &str,
    #[case] namespaces: &[&str],
) {
    let (status, body, refused) = call(setting, subject, namespaces).await;
    assert_eq!((status, refused), (403, 1), "{body}");
    assert!(body.contains("vmafx-namespace: only the operator may call for a namespace"), "{body}");
}

/// A token of the same issuer with the operator's subject in another claim, or in another spelling, is not the operator.
#[rstest]
#[case::prefix("system:serviceaccount:vmafx-system:vmafx-operator2")]
#[case::other_namespace("system:serviceaccount:studio-a:vmafx-operator")]
#[tokio::test]
async fn a_similar_name_is_not_the_operator(#[case] subject: &str) {
    let (status, ..) = call("{namespace}", subject, &["studio-b"]).await;
    assert_ne!(status, 200);
}
