//! The session of a browser, attacked by requests that no browser of ours sends.

use std::time::{SystemTime, UNIX_EPOCH};

use rstest::rstest;
use serde_json::{Value, json};

use crate::controller::{Controller, READER, WRITER, config};
use crate::http::Http;
use crate::issuer::Issuer;

/// The headers of a change that the dashboard makes.
const OWN: [(&str, &str); 2] = [("sec-fetch-site", "same-origin"), ("x-vmafx-request", "dashboard")];

struct Answer {
    status: u16,
    cookie: Option<String>,
    body: Value,
}

async fn call(
    http: &Http,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<Value>,
) -> Answer {
    let mut request = http.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(body) = body {
        request = request.body(body.to_string());
    }
    let response = request.send().await.unwrap();
    let cookie = response.headers().get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned());
    let status = response.status().as_u16();
    let bytes = response.bytes().await.unwrap();
    Answer { status, cookie, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) }
}

async fn sign_in(http: &Http, token: &str) -> Answer {
    call(http, "POST", "/session", &OWN, Some(json!({ "token": token }))).await
}

fn cookie(token: &str) -> String {
    format!("vmafx_session={token}")
}

fn attributes(cookie: &str) -> Vec<&str> {
    let mut attributes: Vec<_> = cookie.split("; ").skip(1).collect();
    attributes.sort_unstable();
    attributes
}

#[tokio::test]
async fn the_cookie_is_the_token_and_no_script_and_no_other_site_gets_it() {
    let controller = Controller::start(&[]).await;
    let http = Http::new(controller.http(), None);
    let answer = sign_in(&http, READER).await;
    assert_eq!(answer.status, 200);
    let caller = &answer.body["caller"];
    assert_eq!((&caller["tenant"], &caller["roles"]), (&json!("acme"), &json!(["vmafx:reader"])));
    assert_eq!(caller.get("expiresAt"), None);
    let set = answer.cookie.unwrap();
    assert!(set.starts_with(&format!("{}; ", cookie(READER))), "{set}");
    // Without an expiry of the token it ends with the browser.
    assert_eq!(attributes(&set), ["HttpOnly", "Path=/", "SameSite=Strict"]);

    let session = call(&http, "GET", "/session", &[("cookie", &cookie(READER))], None).await;
    assert_eq!((session.status, &session.body["caller"]["tenant"]), (200, &json!("acme")));
    let jobs = call(&http, "GET", "/v1/jobs", &[("cookie", &cookie(READER))], None).await;
    assert_eq!(jobs.status, 200);

    let out = call(&http, "DELETE", "/session", &[OWN[0], OWN[1], ("cookie", &cookie(READER))], None).await;
    let removed = out.cookie.unwrap();
    assert!(removed.starts_with("vmafx_session=; "), "{removed}");
    assert!(attributes(&removed).contains(&"Max-Age=0"), "{removed}");
    assert_eq!(out.body, json!({ "signInRequired": true }));
}

#[tokio::test]
async fn a_cookie_lives_as_long_as_its_token() {
    let issuer = Issuer::start().await;
    let settings = issuer.settings();
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let controller = Controller::with(config().envs(&settings)).await;
    let http = Http::new(controller.http(), None);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let token = |seconds: i64| {
        issuer.token_with(|claims| {
            claims["exp"] = json!(now.saturating_add_signed(seconds));
            claims["nbf"] = json!(now - 600);
        })
    };
    let answer = sign_in(&http, &token(3600)).await;
    assert_eq!(answer.status, 200);
    let set = answer.cookie.unwrap();
    let age = attributes(&set).into_iter().find_map(|one| one.strip_prefix("Max-Age=")).unwrap().to_owned();
    let age: u64 = age.parse().unwrap();
    assert!((3500..=3600).contains(&age), "{set}");
    assert!(answer.body["caller"]["expiresAt"].as_str().unwrap().ends_with('Z'));

    let expired = token(-300);
    assert_eq!(sign_in(&http, &expired).await.status, 401);
    let call_with = |path| {
        let (http, cookie) = (http.clone(), cookie(&expired));
        async move { call(&http, "GET", path, &[("cookie", cookie.as_str())], None).await }
    };
    assert_eq!(call_with("/v1/jobs").await.status, 401);
    assert_eq!(call_with("/session").await.body, json!({ "signInRequired": true }));
}

#[tokio::test]
async fn with_tls_the_cookie_is_sent_by_tls_only() {
    let directory = tempfile::tempdir().unwrap();
    let pair =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let (cert, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
    std::fs::write(&cert, pair.cert.pem()).unwrap();
    std::fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
    // Optional, because the test's own client and the check for readiness have no TLS.
    let controller = Controller::start(&[
        ("VMAFX_HTTP_TLS", "true"),
        ("VMAFX_HTTP_TLS_OPTIONAL", "true"),
        ("VMAFX_HTTP_CERT_FILE", cert.to_str().unwrap()),
        ("VMAFX_HTTP_KEY_FILE", key.to_str().unwrap()),
    ])
    .await;
    let answer = sign_in(&Http::new(controller.http(), None), READER).await;
    let set = answer.cookie.unwrap();
    assert_eq!(attributes(&set), ["HttpOnly", "Path=/", "SameSite=Strict", "Secure"]);
}

#[rstest]
#[case::wrong(json!({ "token": "wrong-0123456789abcdef" }), 401)]
#[case::empty(json!({ "token": " " }), 401)]
#[case::no_token(json!({}), 400)]
#[case::more(json!({ "token": "x", "tenant": "other" }), 400)]
#[case::too_long(json!({ "token": "x".repeat(40_000) }), 413)]
#[tokio::test]
async fn what_is_no_token_signs_nobody_in(#[case] body: Value, #[case] status: u16) {
    let controller = Controller::start(&[]).await;
    let answer = call(&Http::new(controller.http(), None), "POST", "/session", &OWN, Some(body)).await;
    assert_eq!((answer.status, answer.cookie), (status, None), "{}", answer.body);
    assert!(answer.body["error"].is_string());
}

/// A page of another site can send a form or a script's request with the cookie of a neighbour on the same host.
#[tokio::test]
async fn no_change_comes_from_another_site() {
    let controller = Controller::start(&[]).await;
    let http = Http::new(controller.http(), None);
    let clips = json!({ "scoring": { "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" } });
    let submitted = controller.http_with(WRITER).post("/v1/jobs", &clips).await.expect(201);
    let job = format!("/v1/jobs/{}", submitted["id"].as_str().unwrap());
    let (host, session) = (controller.http().to_string(), cookie(WRITER));
    let own_origin = format!("http://{host}");
    let session = ("cookie", session.as_str());
    let ours = ("x-vmafx-request", "dashboard");
    let foreign: [&[(&str, &str)]; 7] = [
        &[session],
        &[session, ours],
        &[session, ("sec-fetch-site", "same-origin")],
        &[session, ours, ("sec-fetch-site", "cross-site")],
        &[session, ours, ("sec-fetch-site", "same-site"), ("origin", &own_origin)],
        &[session, ours, ("origin", "http://evil.example")],
        &[session, ours, ("origin", "null")],
    ];
    for headers in foreign {
        for (method, path) in [
            ("POST", format!("{job}/cancel")),
            ("PATCH", job.clone()),
            ("POST", format!("{job}/label")),
            ("POST", "/v1/jobs".to_owned()),
            ("POST", "/v1/score".to_owned()),
            ("DELETE", "/session".to_owned()),
            ("POST", "/session".to_owned()),
        ] {
            let body = Some(json!({ "token": WRITER }));
            let answer = call(&http, method, &path, headers, body).await;
            assert_eq!(
                (answer.status, answer.cookie),
                (403, None),
                "{method} {path} {headers:?}: {}",
                answer.body
            );
        }
    }
    let untouched = controller.http_with(WRITER).get(&job).await.expect(200);
    assert_eq!((&untouched["status"], &untouched["revision"]), (&json!("pending"), &json!(1)));

    let by_origin = [session, ours, ("origin", own_origin.as_str())];
    let cancelled = call(&http, "POST", &format!("{job}/cancel"), &by_origin, None).await;
    assert_eq!((cancelled.status, &cancelled.body["status"]), (200, &json!("cancelled")));
}

#[tokio::test]
async fn a_bearer_token_needs_no_header_and_a_cookie_beside_it_is_ignored() {
    let controller = Controller::start(&[]).await;
    let clips = json!({ "scoring": { "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" } });
    let session = [("cookie", cookie(WRITER)), ("sec-fetch-site", "cross-site".to_owned())];
    let headers: Vec<_> = session.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = call(&controller.http_with(WRITER), "POST", "/v1/jobs", &headers, Some(clips.clone())).await;
    assert_eq!(answer.status, 201);
    for wrong in [controller.http_with(READER), controller.http_with("wrong-0123456789abcdef")] {
        let answer = call(&wrong, "POST", "/v1/jobs", &headers, Some(clips.clone())).await;
        assert!([401, 403].contains(&answer.status), "{}", answer.body);
    }
    let basic = [("authorization", "Basic eDp5"), ("cookie", &cookie(WRITER))];
    let answer = call(&Http::new(controller.http(), None), "GET", "/v1/jobs", &basic, None).await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn roles_and_tenants_are_those_of_the_token() {
    let controller = Controller::start(&[]).await;
    let http = Http::new(controller.http(), None);
    let clips = json!({ "scoring": { "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" } });
    let as_reader = [OWN[0], OWN[1], ("cookie", &cookie(READER))];
    let answer = call(&http, "POST", "/v1/jobs", &as_reader, Some(clips)).await;
    assert_eq!(answer.status, 403);
    assert!(answer.body["error"].as_str().unwrap().contains("vmafx:writer"), "{}", answer.body);
    let two = format!("{}; {}", cookie(READER), cookie(WRITER));
    assert_eq!(call(&http, "GET", "/v1/jobs", &[("cookie", &two)], None).await.status, 401);
    let private = http.request("GET", "/v1/jobs").header("cookie", cookie(READER)).send().await.unwrap();
    assert_eq!(private.headers()["cache-control"], "no-store");
    assert_eq!(private.headers()["x-content-type-options"], "nosniff");
}

#[tokio::test]
async fn signing_in_and_changes_by_cookie_are_in_the_audit_log_without_the_token() {
    let controller = Controller::start(&[]).await;
    let http = Http::new(controller.http(), None);
    sign_in(&http, WRITER).await;
    sign_in(&http, "wrong-0123456789abcdef").await;
    let clips = json!({ "scoring": { "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" } });
    let as_writer = [OWN[0], OWN[1], ("cookie", &cookie(WRITER))];
    let submitted = call(&http, "POST", "/v1/jobs", &as_writer, Some(clips)).await;
    assert_eq!(submitted.status, 201);
    let path = format!("/v1/jobs/{}/cancel", submitted.body["id"].as_str().unwrap());
    assert_eq!(call(&http, "POST", &path, &[as_writer[2]], None).await.status, 403);
    call(&http, "DELETE", "/session", &as_writer, None).await;

    let log = controller.log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let audited: Vec<_> = lines
        .filter(|line| line["target"] == "vmafx::audit")
        .map(|line| (line["method"].clone(), line["roles"].clone(), line["result"].clone()))
        .collect();
    let line = |method: &str, roles: Value, result: &str| (json!(method), roles, json!(result));
    let writer = || json!("vmafx:writer");
    assert_eq!(
        audited,
        [
            line("POST /session", writer(), "ok"),
            line("POST /session", Value::Null, "unauthenticated"),
            line("POST /v1/jobs", writer(), "ok"),
            line("POST /v1/jobs/{id}/cancel", writer(), "permission_denied"),
            line("DELETE /session", writer(), "ok"),
        ]
    );
    assert!(!log.contains(WRITER) && !log.contains("wrong-0123456789abcdef"));
}

#[tokio::test]
async fn without_authentication_a_foreign_page_still_changes_nothing() {
    let config = vmafx_testkit::controller::ControllerConfig::new(crate::controller::PROGRAM);
    let controller = Controller::with(config).await;
    let http = Http::new(controller.http(), None);
    let session = http.get("/session").await.expect(200);
    assert_eq!(session["signInRequired"], false);
    assert_eq!(session["caller"]["tenant"], "dev");
    let clips = json!({ "scoring": { "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" } });
    let submit = |headers: &'static [(&'static str, &'static str)]| {
        let (http, clips) = (http.clone(), clips.clone());
        async move { call(&http, "POST", "/v1/jobs", headers, Some(clips)).await.status }
    };
    assert_eq!(submit(&[("sec-fetch-site", "cross-site")]).await, 403);
    assert_eq!(submit(&[("origin", "http://evil.example")]).await, 403);
    assert_eq!(submit(&[("sec-fetch-site", "same-origin")]).await, 201);
    assert_eq!(submit(&[]).await, 201);
    let set = sign_in(&http, "anything-0123456789").await;
    assert_eq!((set.status, set.cookie), (200, None));
}

#[tokio::test]
async fn a_stream_by_cookie_ends_when_the_token_is_removed() {
    let controller = Controller::start(&[]).await;
    let http = Http::new(controller.http(), None);
    let request = http.request("GET", "/v1/events?changesOnly=true").header("cookie", cookie(READER));
    let response = request.send().await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
    controller.set_tokens("tokens: []").unwrap();
    // The stream ends by itself once the file is read again; the client's own timeout would fail the test.
    let text = response.text().await.unwrap();
    assert!(text.contains("event: bookmark") && text.contains("event: error"), "{text}");
}
