//! `grpcurl`, a third-party client that learns the services by reflection.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tonic::Code;
use vmafx_testkit::kube::assets::{self, Binary};

use crate::controller::{Controller, NODE, READER, WRITER};
use crate::issuer::{Issuer, key, mint};

const CONTROLLER: &str = "vmafx.controller.v1.VmafxController";
const SCORING: &str = "vmafx.v1.VmafxScoring";

struct Grpcurl {
    program: PathBuf,
    addr: SocketAddr,
    /// The token for reflection, which a token with the role node does not permit.
    reader: String,
}

impl Grpcurl {
    async fn new(controller: &Controller, reader: &str) -> Self {
        let assets =
            tokio::task::spawn_blocking(|| assets::ensure(&[Binary::Grpcurl])).await.unwrap().unwrap();
        let program = assets.path(Binary::Grpcurl).to_owned();
        Self { program, addr: controller.grpc(), reader: reader.to_owned() }
    }

    /// Runs a command; returns its output, or the status code and message of a failed call.
    fn run(&self, arguments: &[&str]) -> Result<String, (Code, String)> {
        let mut command = Command::new(&self.program);
        let output = command.args(["-plaintext", "-max-time", "20"]).args(arguments).output().unwrap();
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout).unwrap());
        }
        // The exit code of a failed call is 64 plus the status code.
        let code = output.status.code().and_then(|code| code.checked_sub(64));
        let text = String::from_utf8(output.stderr).unwrap();
        let code = code.unwrap_or_else(|| panic!("{arguments:?}: {}: {text}", output.status));
        Err((Code::from_i32(code), text))
    }

    fn call(&self, token: &str, method: &str, message: &Value) -> Result<Value, (Code, String)> {
        let (reflect, bearer) =
            (format!("authorization: Bearer {}", self.reader), format!("authorization: Bearer {token}"));
        let (message, addr) = (message.to_string(), self.addr.to_string());
        let headers = ["-reflect-header", &reflect, "-rpc-header", &bearer];
        let output = self.run(&[&headers[..], &["-d", &message, &addr, method]].concat())?;
        Ok(serde_json::from_str(&output).unwrap())
    }

    /// Calls a method of `VmafxController`, which must succeed.
    fn queue(&self, token: &str, method: &str, message: &Value) -> Value {
        self.call(token, &format!("{CONTROLLER}/{method}"), message).unwrap()
    }

    /// The status code of a call that must fail.
    fn refused(&self, token: &str, method: &str, message: &Value) -> Code {
        self.call(token, &format!("{CONTROLLER}/{method}"), message).unwrap_err().0
    }
}

fn clips() -> Value {
    json!({ "scoring": { "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" }, "priority": 3 })
}

/// Submits a job, scores it as a node, and reads the score.
fn score_a_job(grpcurl: &Grpcurl, writer: &str, node: &str) {
    let submitted = grpcurl.queue(writer, "SubmitJob", &clips());
    let capability = json!({ "backends": ["cpu"], "gpuVendor": "cpu", "concurrency": 1 });
    let session = grpcurl.queue(node, "RegisterNode", &json!({ "name": "n", "capability": capability }));
    let with_session = |mut message: Value| {
        message["nodeId"] = session["nodeId"].clone();
        message["sessionToken"] = session["sessionToken"].clone();
        message
    };
    let pulled = grpcurl.queue(node, "PullWork", &with_session(json!({ "capability": capability })));
    let job = &pulled["job"];
    assert_eq!((&job["id"], &job["status"]), (&submitted["jobId"], &json!("RUNNING")), "{pulled}");
    assert_eq!(job["scoringRoots"], json!(["/clips"]));
    let beat = with_session(json!({ "jobsRunning": 1, "runningJobIds": [job["id"]] }));
    assert_eq!(grpcurl.queue(node, "Heartbeat", &beat)["ok"], true);
    let report = with_session(json!({
        "jobId": job["id"], "final": true, "score": 93.5, "features": { "vif": 0.25 }, "attempt": job["attempt"],
    }));
    assert_eq!(grpcurl.queue(node, "ReportResult", &report)["ok"], true);
    assert_eq!(grpcurl.queue(node, "ReportResult", &report)["ok"], true, "a repeated report is a success");

    let done = grpcurl.queue(writer, "GetJob", &json!({ "jobId": job["id"] }));
    assert_eq!((&done["status"], &done["finalScore"]), (&json!("COMPLETED"), &json!(93.5)), "{done}");
    assert_eq!((&done["assignedNode"], &done["features"]), (&json!("n"), &json!({ "vif": 0.25 })));
    assert_eq!(
        grpcurl.queue(node, "PullWork", &with_session(json!({ "capability": capability }))),
        json!({})
    );
}

#[tokio::test]
async fn it_lists_services_submits_a_job_acts_as_a_node_and_reads_the_score() {
    let controller = Controller::start(&[]).await;
    let grpcurl = Grpcurl::new(&controller, READER).await;
    let (reader, addr) = (format!("authorization: Bearer {READER}"), controller.grpc().to_string());
    let services = grpcurl.run(&["-reflect-header", &reader, &addr, "list"]).unwrap();
    for service in [CONTROLLER, SCORING, "grpc.health.v1.Health"] {
        assert!(services.lines().any(|line| line == service), "{services}");
    }
    let health = ["-reflect-header", &reader, "-d", "{}", &addr, "grpc.health.v1.Health/Check"];
    assert!(grpcurl.run(&health).unwrap().contains("SERVING"), "health needs no token");
    score_a_job(&grpcurl, WRITER, NODE);
}

#[tokio::test]
async fn without_a_token_or_with_the_wrong_role_it_is_refused() {
    let controller = Controller::start(&[]).await;
    let grpcurl = Grpcurl::new(&controller, READER).await;
    let addr = controller.grpc().to_string();
    let (_, error) = grpcurl.run(&["-d", "{}", &addr, &format!("{CONTROLLER}/GetJob")]).unwrap_err();
    assert!(error.contains("code = Unauthenticated"), "reflection needs a token: {error}");
    assert_eq!(grpcurl.refused("", "SubmitJob", &clips()), Code::Unauthenticated);
    assert_eq!(grpcurl.refused("nobody-has-this-token", "SubmitJob", &clips()), Code::Unauthenticated);
    assert_eq!(grpcurl.refused(READER, "SubmitJob", &clips()), Code::PermissionDenied);
    assert_eq!(grpcurl.refused(NODE, "SubmitJob", &clips()), Code::PermissionDenied);
    assert_eq!(grpcurl.refused(WRITER, "RegisterNode", &json!({ "name": "n" })), Code::PermissionDenied);
    let jobs = controller.http_with(READER).get("/v1/jobs").await.expect(200);
    assert_eq!(jobs["jobs"], json!([]));
}

#[tokio::test]
async fn only_valid_tokens_of_a_trusted_issuer_are_accepted() {
    let issuer = Issuer::start().await;
    let trusted = issuer.settings();
    let mut settings: Vec<(&str, &str)> =
        trusted.iter().map(|(name, value)| (*name, value.as_str())).collect();
    settings.push(("VMAFX_AUTH_TOKEN_FILE", ""));
    let controller = Controller::start(&settings).await;

    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    let claims = |change: &dyn Fn(&mut Value)| {
        let mut claims = issuer.claims();
        (claims["exp"], claims["nbf"]) = (json!(now + 3600), json!(now - 60));
        change(&mut claims);
        claims
    };
    let header = json!({ "alg": "RS256", "kid": "first" });
    let token = |change: &dyn Fn(&mut Value)| mint(&header, &claims(change), key(0));
    let role = |role: &'static str| token(&move |claims| claims["vmafx_roles"] = json!([role]));
    let (writer, node) = (role("vmafx:writer"), role("vmafx:node"));
    let grpcurl = Grpcurl::new(&controller, &writer).await;
    score_a_job(&grpcurl, &writer, &node);

    let invalid = [
        ("expired", token(&|claims| claims["exp"] = json!(now - 3600))),
        ("not valid yet", token(&|claims| claims["nbf"] = json!(now + 2 * 3600))),
        ("of another issuer", token(&|claims| claims["iss"] = json!("https://somebody.else"))),
        ("for somebody else", token(&|claims| claims["aud"] = json!("another"))),
        ("signed by another key", mint(&header, &claims(&|_| ()), key(1))),
        ("of another algorithm", mint(&json!({ "alg": "HS256", "kid": "first" }), &claims(&|_| ()), key(0))),
        ("not signed", {
            let unsigned = mint(&json!({ "alg": "none" }), &claims(&|_| ()), key(0));
            format!("{}.", unsigned.rsplit_once('.').unwrap().0)
        }),
    ];
    for (what, token) in invalid {
        assert_eq!(grpcurl.refused(&token, "SubmitJob", &clips()), Code::Unauthenticated, "a token {what}");
    }
    assert_eq!(grpcurl.refused(&role("vmafx:reader"), "SubmitJob", &clips()), Code::PermissionDenied);
}
