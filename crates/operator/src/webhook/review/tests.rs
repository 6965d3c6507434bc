use rstest::rstest;
use serde_json::json;

use super::*;
use crate::template_policy::TemplateScope;
use crate::template_policy::tests::policy;

fn review(kind: &str, operation: &str, object: &Value, old: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u-1", "operation": operation, "name": "a", "namespace": "n", "userInfo": {},
            "kind": { "group": "vmafx.dev", "version": "v1", "kind": kind },
            "resource": { "group": "vmafx.dev", "version": "v1", "resource": "vmafxjobs" },
            "object": object, "oldObject": old,
        },
    })
}

fn job(spec: &Value) -> Value {
    json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "a" }, "spec": spec })
}

/// Its client reaches nothing: what needs no permission is not asked for.
pub(in crate::webhook) fn reviewer() -> Reviewer {
    vmafx_kit::tls::install_crypto_provider();
    let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let access = AccessReviewer::new(kube::Client::try_from(config).unwrap());
    Reviewer { templates: policy(TemplateScope::Any), access }
}

fn answered(kind: ReviewedKind, body: &[u8]) -> (AdmissionReview<DynamicObject>, ReviewOutcome) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { answer(&reviewer(), kind, body).await })
}

fn ask(review: &Value) -> (AdmissionResponse, ReviewOutcome) {
    let (review, outcome) = answered(ReviewedKind::Job, review.to_string().as_bytes());
    (review.response.unwrap(), outcome)
}

#[test]
fn several_violations_are_listed_at_once_as_the_api_server_does() {
    let spec = json!({ "reference": "ref.mp4", "distorted": "s3://bucket", "ttlSecondsAfterFinished": 0 });
    let (response, outcome) = ask(&review("VmafxJob", "CREATE", &job(&spec), &Value::Null));
    assert_eq!(outcome, ReviewOutcome::Refused);
    assert_eq!((response.uid.as_str(), response.allowed), ("u-1", false));
    assert_eq!((response.result.code, response.result.reason.as_str()), (422, "Invalid"));
    assert_eq!(
        response.result.message,
        "VmafxJob.vmafx.dev \"a\" is invalid: [spec.reference: Invalid value: \"ref.mp4\": must be a URI such as \
         s3://bucket/clip.mp4 or file:///data/clip.mp4: write the scheme before the path, spec.distorted: Invalid \
         value: \"s3://bucket\": names no object: write s3://bucket/key]"
    );
    let causes = response.result.details.unwrap().causes;
    let fields: Vec<_> = causes.iter().map(|cause| cause.field.as_str()).collect();
    assert_eq!(fields, ["spec.reference", "spec.distorted"]);
    assert!(response.warnings.unwrap()[0].starts_with("spec.ttlSecondsAfterFinished: "));
}

#[rstest]
#[case::delete("DELETE")]
#[case::connect("CONNECT")]
fn what_stores_nothing_is_allowed(#[case] operation: &str) {
    let (response, outcome) = ask(&review("VmafxJob", operation, &Value::Null, &job(&json!({}))));
    assert_eq!((response.allowed, outcome), (true, ReviewOutcome::Allowed));
}

#[rstest]
#[case::not_json(b"{".as_slice(), "")]
#[case::empty(b"".as_slice(), "")]
#[case::another_document(b"[1]".as_slice(), "")]
#[case::no_request(br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#.as_slice(), "")]
#[case::half_a_request(
    br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-2"}}"#.as_slice(),
    "u-2"
)]
fn a_malformed_review_is_answered_by_a_review_with_its_uid(#[case] body: &[u8], #[case] uid: &str) {
    let (review, outcome) = answered(ReviewedKind::Job, body);
    let response = review.response.unwrap();
    assert_eq!((response.uid.as_str(), response.allowed, outcome), (uid, false, ReviewOutcome::Malformed));
    assert!(response.result.message.starts_with("this is not an AdmissionReview of admission.k8s.io/v1: "));
    assert_eq!(review.types.api_version, "admission.k8s.io/v1");
}

#[rstest]
#[case::another_kind("VmafxNode", job(&json!({})), "this path reviews VmafxJob.vmafx.dev, not VmafxNode.vmafx.dev")]
#[case::no_object("VmafxJob", Value::Null, "the review has no object")]
fn a_review_of_something_else_is_malformed(#[case] kind: &str, #[case] object: Value, #[case] message: &str) {
    let (response, outcome) = ask(&review(kind, "CREATE", &object, &Value::Null));
    assert_eq!((response.uid.as_str(), response.allowed, outcome), ("u-1", false, ReviewOutcome::Malformed));
    assert_eq!(response.result.message, message);
}

#[test]
fn the_list_of_violations_is_limited() {
    let env: Vec<_> = (0..50).map(|n| json!({ "name": format!("V{}", n / 2) })).collect();
    let template = json!({ "spec": { "containers": [{ "name": "agent", "env": env }] } });
    let spec = json!({ "reference": "s3://b/r", "distorted": "s3://b/d", "execution": "Pod", "podTemplate": template });
    let (response, _) = ask(&review("VmafxJob", "CREATE", &job(&spec), &Value::Null));
    assert!(response.result.message.ends_with("and 5 more]"), "{}", response.result.message);
    assert_eq!(response.result.details.unwrap().causes.len(), 20);
}

proptest::proptest! {
    #[test]
    fn every_body_is_answered(body in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let (review, outcome) = answered(ReviewedKind::Node, &body);
        proptest::prop_assert!(review.response.is_some());
        proptest::prop_assert_eq!(outcome, ReviewOutcome::Malformed);
    }
}
