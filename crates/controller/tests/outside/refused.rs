//! Refused requests: their status and their body.

use rstest::rstest;
use serde_json::{Value, json};
use vmafx_controller::auth::permissions::{self, Permission};
use vmafx_controller::http::routes;
use vmafx_controller::identity::Role;

use crate::controller::{Controller, NODE, READER, WRITER};
use crate::http::Http;

const UNKNOWN_JOB: &str = "/v1/jobs/00000000-0000-7000-8000-000000000000";

#[tokio::test]
async fn every_route_requires_a_token_with_a_sufficient_role() {
    let controller = Controller::start(&[]).await;
    for (method, route) in routes::ALL {
        let path = route.replace("{id}", "00000000-0000-7000-8000-000000000000");
        let call = async |token: Option<&str>| {
            let http = Http::new(controller.http(), token);
            http.send(http.request(method.as_str(), &path).body("{}")).await.unwrap()
        };
        match permissions::of_http_route(&method, route) {
            Some(Permission::Exempt) if method.is_safe() => {
                call(None).await.expect(200);
            }
            // Signing in and out is for pages of the controller.
            Some(Permission::Exempt) => {
                call(None).await.refused(403);
            }
            Some(Permission::Roles(roles)) => {
                let refused = call(None).await.refused(401);
                assert_eq!(refused, call(Some("not-a-token-of-anybody")).await.refused(401));
                call(Some(NODE)).await.refused(403);
                if roles.iter().all(|role| role != Role::Reader) {
                    call(Some(READER)).await.refused(403);
                }
            }
            None => panic!("{method} {route} has no row in the table of roles"),
        }
    }
}

#[tokio::test]
async fn every_route_is_in_the_router() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    for (method, route) in routes::ALL.iter().filter(|(_, route)| *route != routes::EVENTS) {
        let path = route.replace("{id}", "00000000-0000-7000-8000-000000000000");
        let response = http.send(http.request(method.as_str(), &path).body("[]")).await.unwrap();
        let text = response.body["error"].as_str().unwrap_or_default().to_owned();
        assert!(!text.contains("/openapi.json"), "{method} {route}: {text}");
    }
}

#[rstest]
#[case::no_such_path("GET", "/v1/job", 404)]
#[case::no_such_job("GET", UNKNOWN_JOB, 404)]
#[case::no_id("GET", "/v1/jobs/7", 404)]
#[case::no_text("GET", "/v1/jobs/%ff", 404)]
#[case::method("PUT", "/v1/jobs", 405)]
#[case::method_of_a_job("DELETE", UNKNOWN_JOB, 405)]
#[tokio::test]
async fn an_error_about_a_path_or_method_is_json(
    #[case] method: &str,
    #[case] path: &str,
    #[case] status: u16,
) {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    http.send(http.request(method, path)).await.unwrap().refused(status);
}

#[tokio::test]
async fn an_invalid_body_is_refused_with_its_field_and_nothing_is_stored() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let valid = json!({ "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" });
    let with = |field: &str, value: Value| {
        let mut scoring = valid.clone();
        scoring[field] = value;
        json!({ "scoring": scoring })
    };
    let cases = [
        (json!(null), "the body is invalid"),
        (json!({}), "missing field `scoring`"),
        (json!({ "scoring": valid, "prioritty": 1 }), "unknown field `prioritty`"),
        (json!({ "scoring": valid, "priority": 5_000_000_000_u64 }), "invalid value"),
        (
            json!({ "scoring": valid, "idempotencyKey": "k".repeat(257) }),
            "idempotencyKey: must have at most 256",
        ),
        (
            json!({ "scoring": valid, "idempotencyKey": "a\u{0}b" }),
            "idempotencyKey: must not contain control",
        ),
        (json!({ "scoring": valid, "maxLostAttempts": 0 }), "maxLostAttempts: must be between 1 and 101"),
        (json!({ "scoring": valid, "groundTruth": { "value": 101 } }), "groundTruth.value: 101 is outside"),
        (with("reference", json!("")), "scoring.reference: is required"),
        (with("reference", json!("/clips/\u{1b}[2J")), "scoring.reference: "),
        (with("model", json!("m".repeat(1025))), "scoring.model: must have at most 1024"),
        (with("backend", json!("abacus")), "scoring.backend: "),
        (with("features", json!(vec!["psnr"; 17])), "scoring.features: "),
        (
            with("scaleTo", json!({ "width": 0, "height": 1 })),
            "scoring.scaleTo: must be Reference, Distorted, Never or a size such as 1920x1080",
        ),
    ];
    for (body, expected) in cases {
        let refused = http.post("/v1/jobs", &body).await.refused(400);
        assert!(refused.contains(expected), "{body}: {refused}");
    }
    let incomplete =
        http.send(http.request("POST", "/v1/jobs").body("{\"scoring\": {")).await.unwrap().refused(400);
    assert!(incomplete.contains("EOF"), "{incomplete}");
    assert_eq!(http.get("/v1/jobs").await.expect(200)["jobs"], json!([]));
}

#[rstest]
#[case::outside("/etc/passwd")]
#[case::up("/clips/../etc/passwd")]
#[case::encoded_up("file:///clips/%2e%2e/etc/passwd")]
#[case::beside("/clips-of-others/r.y4m")]
#[case::scheme("gopher://clips/r.y4m")]
#[case::relative("clips/r.y4m")]
#[case::bucket("s3://clips/r.y4m")]
#[tokio::test]
async fn a_clip_outside_the_roots_is_refused(#[case] address: &str) {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    for (reference, distorted) in [(address, "/clips/d.y4m"), ("/clips/r.y4m", address)] {
        let clips = json!({ "reference": reference, "distorted": distorted });
        http.post("/v1/jobs", &json!({ "scoring": clips })).await.refused(403);
        http.post("/v1/score", &clips).await.refused(403);
    }
    assert_eq!(http.get("/v1/jobs").await.expect(200)["jobs"], json!([]));
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_read_to_its_end() {
    let controller = Controller::start(&[("VMAFX_HTTP_LIMITS_BODY", "70000")]).await;
    let http = controller.http_with(WRITER);
    let body = " ".repeat(70_001);
    let refused = http.send(http.request("POST", "/v1/jobs").body(body)).await.unwrap().refused(413);
    assert_eq!(refused, "the body is too large; VMAFX_HTTP_LIMITS_BODY sets the limit");
}
