//! The audit log of the real controller.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tonic::Request;
use vmafx_proto::controller::v1 as wire;

use crate::controller::{ALL, Controller, NODE, READER, STRANGER, WRITER, config};
use crate::http::Http;
use crate::node::{TestNode, clips, submit};

const UNKNOWN_JOB: &str = "00000000-0000-7000-8000-000000000000";

/// The lines of the audit log, without what differs from run to run.
fn lines(controller: &Controller) -> Vec<Value> {
    let log = controller.log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["target"] == "vmafx::audit").collect()
}

/// The last line, after its peer and its duration were checked.
fn last(controller: &Controller) -> Value {
    let mut line = lines(controller).pop().unwrap();
    let fields = line.as_object_mut().unwrap();
    let peer = fields.remove("peer").unwrap();
    let peer: SocketAddr = peer.as_str().unwrap().parse().unwrap();
    assert!(peer.ip().is_loopback(), "{peer}");
    assert!(fields.remove("duration_ms").unwrap().is_u64());
    assert_eq!(fields.remove("level"), Some(json!("INFO")));
    assert_eq!(fields.remove("message"), Some(json!("call ended")));
    for name in ["timestamp", "target"] {
        fields.remove(name).unwrap();
    }
    line
}

/// Names the subject in front of `@` and its roles behind.
fn expected(caller: &str, method: &str, result: &str, more: Value) -> Value {
    let (subject, roles) = caller.split_once('@').unwrap();
    let mut line =
        json!({ "subject": subject, "tenant": "acme", "roles": roles, "method": method, "result": result });
    let Value::Object(more) = more else { panic!("{more}") };
    line.as_object_mut().unwrap().extend(more);
    line
}

const TOKENS: &str = "tokens:
- {token: reader-0123456789abcdef, tenant: acme, roles: ['vmafx:reader'], subject: rita}
- {token: writer-0123456789abcdef, tenant: acme, roles: ['vmafx:writer'], subject: wanda}
- {token: node-0123456789abcdef, tenant: acme, roles: ['vmafx:node'], subject: ned}
- {token: stranger-0123456789abcdef, tenant: other, roles: ['vmafx:writer', 'vmafx:node'], subject: sam}
";

#[tokio::test]
async fn every_call_that_changes_something_has_a_line() {
    let controller = Controller::with(config().tokens(TOKENS)).await;
    let rpc = |name: &str| format!("vmafx.controller.v1.VmafxController/{name}");
    let check = |caller: &str, method: &str, result: &str, more: Value| {
        assert_eq!(last(&controller), expected(caller, method, result, more));
    };

    let mut writer = controller.client(WRITER);
    let job = submit(&mut writer, clips()).await;
    check("wanda@vmafx:writer", &rpc("SubmitJob"), "ok", json!({ "job": job }));

    let node = TestNode::register(controller.client(NODE)).await;
    let registered = json!({ "node": "node-0", "session": node.node_id });
    check("ned@vmafx:node", &rpc("RegisterNode"), "ok", registered);
    let work = node.pull().await.unwrap();
    node.complete(&work, 90.0).await;
    let reported = json!({ "job": job, "session": node.node_id });
    check("ned@vmafx:node", &rpc("ReportResult"), "ok", reported.clone());
    node.release(&work).await.unwrap();
    check("ned@vmafx:node", &rpc("ReleaseJob"), "ok", reported);

    let target = Some(wire::label_job_request::Target::JobId(job.clone()));
    let ground_truth = Some(wire::GroundTruth { value: 80.0, ..Default::default() });
    writer.label_job(wire::LabelJobRequest { target, ground_truth }).await.unwrap();
    check("wanda@vmafx:writer", &rpc("LabelJob"), "ok", json!({ "job": job }));

    let request = wire::CancelJobRequest { job_id: UNKNOWN_JOB.into(), ..Default::default() };
    controller.client(STRANGER).cancel_job(request.clone()).await.unwrap_err();
    let of_other = json!({ "job": UNKNOWN_JOB, "tenant": "other" });
    check("sam@vmafx:writer,vmafx:node", &rpc("CancelJob"), "not_found", of_other);
    controller.client(READER).cancel_job(request).await.unwrap_err();
    check("rita@vmafx:reader", &rpc("CancelJob"), "permission_denied", json!({}));

    let http = controller.http_with(WRITER);
    let body = json!({ "scoring": { "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" } });
    let id = http.post("/v1/jobs", &body).await.expect(201)["id"].clone();
    check("wanda@vmafx:writer", "POST /v1/jobs", "ok", json!({ "job": id }));
    let path = format!("/v1/jobs/{}/cancel", id.as_str().unwrap().replace('-', "%2d"));
    http.post(&path, &json!({})).await.expect(200);
    check("wanda@vmafx:writer", "POST /v1/jobs/{id}/cancel", "ok", json!({ "job": id }));
    http.patch(&format!("/v1/jobs/{UNKNOWN_JOB}"), &json!({ "priority": 3 })).await.expect(404);
    check("wanda@vmafx:writer", "PATCH /v1/jobs/{id}", "not_found", json!({ "job": UNKNOWN_JOB }));
    let outside = json!({ "scoring": { "reference": "/etc/passwd", "distorted": "/clips/d.y4m" } });
    http.post("/v1/jobs", &outside).await.expect(403);
    let reason = json!({ "reason": "OUTSIDE_SCORING_ROOTS" });
    check("wanda@vmafx:writer", "POST /v1/jobs", "permission_denied", reason);
    http.post("/v1/jobs", &json!({ "unknown": 1 })).await.expect(400);
    check("wanda@vmafx:writer", "POST /v1/jobs", "invalid_argument", json!({}));

    let before = lines(&controller).len();
    http.get("/v1/jobs").await.expect(200);
    node.beat(&[]).await;
    node.pull().await;
    http.post("/v1/nowhere", &json!({})).await.expect(404);
    assert_eq!(lines(&controller).len(), before, "these change nothing, or happen all the time");
}

#[tokio::test]
async fn pulls_are_in_the_log_at_level_debug_and_the_target_can_be_switched_off() {
    let controller = Controller::start(&[("VMAFX_LOG_LEVEL", "info,vmafx::audit=debug")]).await;
    let job = submit(&mut controller.client(WRITER), clips()).await;
    let node = TestNode::register(controller.client(NODE)).await;
    node.pull().await.unwrap();
    let line = lines(&controller).pop().unwrap();
    assert_eq!(line["method"], "vmafx.controller.v1.VmafxController/PullWork");
    assert_eq!(
        (&line["level"], &line["job"], &line["session"]),
        (&json!("DEBUG"), &json!(job), &json!(node.node_id))
    );

    let silent = Controller::start(&[("VMAFX_LOG_LEVEL", "info,vmafx::audit=off")]).await;
    submit(&mut silent.client(WRITER), clips()).await;
    assert_eq!(lines(&silent), [] as [Value; 0]);
}

#[tokio::test]
async fn a_refused_namespace_and_a_missing_token_are_in_the_log() {
    let controller = Controller::start(&[]).await;
    let mut request = Request::new(clips());
    request.metadata_mut().insert("vmafx-namespace", "studio-b".parse().unwrap());
    controller.client(WRITER).submit_job(request).await.unwrap_err();
    let line = last(&controller);
    assert_eq!((&line["namespace"], &line["tenant"]), (&json!("studio-b"), &json!("acme")));
    assert_eq!(line["result"], "permission_denied");

    let nobody = Http::new(controller.http(), None);
    nobody.post("/v1/jobs", &json!({})).await.expect(401);
    assert_eq!(last(&controller), json!({ "method": "POST /v1/jobs", "result": "unauthenticated" }));
}

#[tokio::test]
async fn a_call_that_its_client_gives_up_is_in_the_log() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let body = json!({ "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" });
    // No node will score it.
    let request = http.request("POST", "/v1/score").body(body.to_string()).timeout(Duration::from_secs(1));
    http.send(request).await.unwrap_err();
    let written = || async { !lines(&controller).is_empty() };
    vmafx_testkit::wait::until(Duration::from_secs(20), "a line", written).await.unwrap();
    let line = last(&controller);
    assert_eq!((&line["method"], &line["result"]), (&json!("POST /v1/score"), &json!("cancelled")));
}

#[tokio::test]
async fn no_secret_and_no_forged_line_gets_into_the_log() {
    let controller = Controller::start(&[("VMAFX_SCORING_ROOTS", "https://media.example")]).await;
    let mut writer = controller.client(ALL);
    let mut request = clips();
    let scoring = request.scoring.as_mut().unwrap();
    scoring.reference = "https://media.example/r.mp4?X-Amz-Signature=5ec2e7".into();
    scoring.distorted = scoring.reference.clone();
    request.idempotency_key = "key\u{2028}{\"forged\":1}".into();
    writer.submit_job(request.clone()).await.unwrap();
    request.scoring.as_mut().unwrap().reference =
        "https://elsewhere.example/r.mp4?X-Amz-Signature=5ec2e7".into();
    writer.submit_job(request).await.unwrap_err();
    let node = TestNode::register(controller.client(ALL)).await;
    let work = node.pull().await.unwrap();
    node.complete(&work, 90.0).await;
    let job_id = format!("{}\n{{\"target\":\"vmafx::audit\",\"forged\":1}}", node.session_token);
    writer.cancel_job(wire::CancelJobRequest { job_id, ..Default::default() }).await.unwrap_err();
    let line = last(&controller);
    assert_eq!((&line["result"], line.get("job")), (&json!("not_found"), None));
    let name = format!("node\n{{\"target\":\"vmafx::audit\",\"forged\":1}}{}", "x".repeat(1000));
    let request = wire::RegisterNodeRequest { name, ..Default::default() };
    writer.register_node(request).await.unwrap_err();
    let shown = last(&controller)["node"].as_str().unwrap().to_owned();
    assert!(shown.starts_with("node\u{fffd}{") && shown.chars().count() == 257, "{shown:?}");

    let log = controller.log();
    for secret in [ALL, "5ec2e7", &node.session_token] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
    assert!(lines(&controller).iter().all(|line| line.get("forged").is_none()));
}
