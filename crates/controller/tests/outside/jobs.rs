//! Jobs and nodes in the HTTP API.

use serde_json::{Value, json};

use crate::controller::{ALL, Controller, READER, STRANGER, WRITER};
use crate::http::Http;
use crate::node::TestNode;

fn clips() -> Value {
    json!({ "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" })
}

async fn submit(http: &Http, body: &Value) -> String {
    http.post("/v1/jobs", body).await.expect(201)["id"].as_str().unwrap().to_owned()
}

fn ids(list: &Value) -> Vec<String> {
    let jobs = list["jobs"].as_array().unwrap();
    jobs.iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_job_is_stored_as_it_was_submitted() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let origin = json!({"cluster": "c", "namespace": "n", "name": "nightly", "uid": "u"});
    let body = json!({
        "scoring": { "reference": "/clips/r.yuv", "distorted": "/clips/d.yuv", "model": "vmaf_v0.6.1",
            "backend": "cuda", "features": ["psnr"], "frameStep": 2,
            "input": {"width": 1920, "height": 1080, "pixelFormat": "yuv420p"}, },
        "priority": -3, "idempotencyKey": "mine", "origin": origin, "maxLostAttempts": 7,
        "activeDeadlineSeconds": 3600, "groundTruth": {"value": 4.5, "scale": "mos"},
    });
    let id = submit(&http, &body).await;

    let job = http.get(&format!("/v1/jobs/{id}")).await.expect(200);
    assert_eq!(job["status"], "pending");
    assert_eq!(job["scoring"]["backend"], "cuda");
    assert_eq!(job["scoring"]["features"], json!(["psnr"]));
    assert_eq!(job["scoring"]["input"]["width"], 1920);
    assert_eq!((&job["priority"], &job["idempotencyKey"]), (&json!(-3), &json!("mine")));
    assert_eq!((&job["origin"], &job["maxLostAttempts"]), (&origin, &json!(7)));
    assert_eq!(job["groundTruth"], 87.5);
    assert!(job["deadlineAt"].as_str().unwrap() > job["createdAt"].as_str().unwrap());
    assert_eq!(job.get("score"), None, "a pending job has no score");
}

#[tokio::test]
async fn a_job_can_be_changed_until_it_is_finished() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let id = submit(&http, &json!({ "scoring": clips() })).await;
    let path = format!("/v1/jobs/{id}");
    let mut scoring = clips();
    scoring["features"] = json!(["psnr"]);
    let changed =
        http.patch(&path, &json!({ "scoring": scoring, "activeDeadlineSeconds": 60 })).await.expect(200);
    assert_eq!(changed["scoring"]["features"], json!(["psnr"]));
    assert!(changed["deadlineAt"].is_string());
    assert_eq!(
        http.patch(&path, &json!({ "activeDeadlineSeconds": 0 })).await.expect(200).get("deadlineAt"),
        None
    );
    scoring["distorted"] = json!("/clips/other.y4m");
    let refused = http.patch(&path, &json!({ "scoring": scoring })).await.expect(400);
    assert!(
        refused["error"].as_str().unwrap().starts_with("scoring.distorted: cannot be changed"),
        "{refused}"
    );
    http.post(&format!("{path}/cancel"), &json!({})).await.expect(200);
    http.patch(&path, &json!({ "priority": 3 })).await.expect(409);
    controller.http_with(STRANGER).patch(&path, &json!({ "priority": 3 })).await.expect(404);
}

#[tokio::test]
async fn a_repeated_idempotency_key_returns_the_first_job_and_stores_nothing() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let first = json!({ "scoring": clips(), "idempotencyKey": "k" });
    let id = submit(&http, &first).await;
    let again = http.post("/v1/jobs", &first).await.expect(200);
    assert_eq!(again, json!({ "id": id, "deduplicated": true }));
    let other = json!({ "scoring": clips(), "idempotencyKey": "k", "priority": 9 });
    let refused = http.post("/v1/jobs", &other).await.expect(409);
    let message = format!(
        "idempotencyKey: the idempotency key stands for another request, that of job {id}: use a new key for a new request"
    );
    assert_eq!(refused, json!({ "error": message }));
    assert_eq!(ids(&http.get("/v1/jobs").await.expect(200)), [id]);
    // Another tenant may use the same key.
    submit(&controller.http_with(STRANGER), &first).await;
}

#[tokio::test]
async fn a_list_has_pages_in_both_directions_and_filters() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let mut submitted = Vec::new();
    for number in 0..7 {
        let origin = json!({ "namespace": if number % 2 == 0 { "even" } else { "odd" } });
        submitted.push(submit(&http, &json!({ "scoring": clips(), "origin": origin })).await);
    }
    http.post(&format!("/v1/jobs/{}/cancel", submitted[3]), &json!({})).await.expect(200);

    let mut oldest_first = Vec::new();
    let mut token = String::new();
    loop {
        let page = http.get(&format!("/v1/jobs?pageSize=3&pageToken={token}")).await.expect(200);
        assert!(page["jobs"].as_array().unwrap().len() <= 3);
        oldest_first.extend(ids(&page));
        token = page["nextPageToken"].as_str().unwrap().to_owned();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(oldest_first, submitted);

    let newest = http.get("/v1/jobs?pageSize=2&order=newest").await.expect(200);
    assert_eq!(ids(&newest), [submitted[6].clone(), submitted[5].clone()]);
    let odd = http.get("/v1/jobs?namespace=odd").await.expect(200);
    assert_eq!(ids(&odd), [submitted[1].clone(), submitted[3].clone(), submitted[5].clone()]);
    let odd = http.get("/v1/jobs?namespace=odd&status=pending,running").await.expect(200);
    assert_eq!(ids(&odd), [submitted[1].clone(), submitted[5].clone()]);
    assert_eq!(ids(&http.get("/v1/jobs?status=cancelled").await.expect(200)), [submitted[3].clone()]);
    assert_eq!(http.get("/v1/jobs?namespace=nowhere").await.expect(200)["jobs"], json!([]));

    let other_order = newest["nextPageToken"].as_str().unwrap();
    let refused = http.get(&format!("/v1/jobs?pageToken={other_order}")).await.refused(400);
    assert!(refused.starts_with("pageToken: "), "{refused}");
    let refused = http.get("/v1/jobs?status=done").await.refused(400);
    assert_eq!(refused, "status: each must be one of pending, running, completed, failed, cancelled");
    http.get("/v1/jobs?pageSize=1001").await.refused(400);
    http.get("/v1/jobs?limit=3").await.refused(400);
}

#[tokio::test]
async fn every_resource_of_a_job_shows_its_progress() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let id = submit(&http, &json!({ "scoring": clips() })).await;
    let job = format!("/v1/jobs/{id}");
    assert_eq!(http.get(&format!("{job}/attempts")).await.expect(200), json!({ "attempts": [] }));
    let explained = http.get(&format!("{job}/explain")).await.expect(200);
    assert_eq!(explained["reason"], "NoNode", "{explained}");

    let node = TestNode::register(controller.client(ALL)).await;
    let nodes = http.get("/v1/nodes").await.expect(200);
    assert_eq!(nodes["nodes"][0]["name"], "node-0");
    assert_eq!(nodes["nodes"][0]["labels"], json!({ "pool": "node-0" }));
    let explained = http.get(&format!("{job}/explain")).await.expect(200);
    assert_eq!(
        (&explained["reason"], &explained["backends"][0]["nodes"]),
        (&json!("Ready"), &json!(1)),
        "{explained}"
    );

    let pulled = node.pull().await.unwrap();
    assert_eq!(pulled.id, id);
    assert_eq!(pulled.scoring_roots, ["/clips"]);
    let running = http.get(&job).await.expect(200);
    assert_eq!((&running["status"], &running["node"]), (&json!("running"), &json!("node-0")));
    assert!(running["leaseExpiresAt"].is_string());

    node.complete(&pulled, 0.0).await;
    let done = http.get(&job).await.expect(200);
    assert_eq!((&done["status"], &done["score"]), (&json!("completed"), &json!(0.0)), "0 is a score");
    assert_eq!(done["features"], json!({ "vif": 0.5 }));
    let attempts = http.get(&format!("{job}/attempts")).await.expect(200);
    assert_eq!(attempts["attempts"][0]["outcome"], "completed");
    assert_eq!(attempts["attempts"].as_array().unwrap().len(), 1);

    let labelled = http.post(&format!("{job}/label"), &json!({ "value": 75 })).await.expect(200);
    assert_eq!(labelled, json!({ "id": id, "sampled": true }));
    assert_eq!(http.get(&job).await.expect(200)["groundTruth"], 75.0);
    let opinion = |value: f64| json!({ "value": value, "scale": "mos" });
    http.post(&format!("{job}/label"), &opinion(1.5)).await.expect(200);
    assert_eq!(http.get(&job).await.expect(200)["groundTruth"], 12.5);
    let refused = http.post(&format!("{job}/label"), &opinion(0.5)).await.refused(400);
    assert!(refused.contains("1 to 5"), "{refused}");

    // A cancel does not change a completed job.
    let after = http.post(&format!("{job}/cancel"), &json!({ "reason": "late" })).await.expect(200);
    assert_eq!(after["status"], "completed");
}

#[tokio::test]
async fn a_cancelled_job_cannot_be_labelled() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let id = submit(&http, &json!({ "scoring": clips() })).await;
    let cancel = http.request("POST", &format!("/v1/jobs/{id}/cancel"));
    let job = http.send(cancel).await.unwrap().expect(200);
    assert_eq!(
        (&job["status"], &job["error"]),
        (&json!("cancelled"), &json!("cancelled")),
        "no body is needed"
    );
    let other = submit(&http, &json!({ "scoring": clips() })).await;
    let job = http.post(&format!("/v1/jobs/{other}/cancel"), &json!({ "reason": "wrong clip" })).await;
    assert_eq!(job.expect(200)["error"], "cancelled: wrong clip");
    http.post(&format!("/v1/jobs/{id}/label"), &json!({ "value": 75 })).await.refused(409);
}

#[tokio::test]
async fn jobs_of_another_tenant_are_not_found() {
    let controller = Controller::start(&[]).await;
    let id = submit(&controller.http_with(WRITER), &json!({ "scoring": clips() })).await;
    let stranger = controller.http_with(STRANGER);
    assert_eq!(stranger.get("/v1/jobs").await.expect(200)["jobs"], json!([]));
    let unknown = "00000000-0000-7000-8000-000000000000";
    let without = |id: &str, error: String| error.replace(id, "ID");
    for path in ["", "/attempts", "/explain"] {
        let theirs = stranger.get(&format!("/v1/jobs/{id}{path}")).await.refused(404);
        let missing = stranger.get(&format!("/v1/jobs/{unknown}{path}")).await.refused(404);
        assert_eq!(without(&id, theirs), without(unknown, missing), "the response reveals no job");
    }
    stranger.post(&format!("/v1/jobs/{id}/cancel"), &json!({})).await.refused(404);
    stranger.post(&format!("/v1/jobs/{id}/label"), &json!({ "value": 1 })).await.refused(404);
    let job = controller.http_with(READER).get(&format!("/v1/jobs/{id}")).await.expect(200);
    assert_eq!((&job["status"], job.get("groundTruth")), (&json!("pending"), None));
}
