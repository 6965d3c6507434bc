//! What nodes do while a browser looks, on its request: each request is a line of JSON.

use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use vmafx_proto::controller::v1 as wire;

use crate::controller::{Client, Controller, NODE};
use crate::issuer::Issuer;
use crate::node::TestNode;

/// The nodes of the tenant `acme`, the jobs that they run, and an issuer of tokens that expire.
pub(crate) struct Workers {
    client: Client,
    issuer: Issuer,
    nodes: HashMap<String, TestNode>,
    jobs: HashMap<String, (String, wire::Job)>,
}

fn text<'a>(request: &'a Value, field: &str) -> &'a str {
    request[field].as_str().unwrap_or_else(|| panic!("no {field} in {request}"))
}

impl Workers {
    pub(crate) fn new(controller: &Controller, issuer: Issuer) -> Self {
        Self { client: controller.client(NODE), issuer, nodes: HashMap::new(), jobs: HashMap::new() }
    }

    /// Does what the request asks for, and returns what it needs to know.
    pub(crate) async fn answer(&mut self, controller: &mut Controller, request: &Value) -> Value {
        match text(request, "ask") {
            "register" => self.register(text(request, "node"), request["slots"].as_i64().unwrap_or(4)).await,
            "pull" => self.pull(text(request, "node")).await,
            "progress" => self.progress(request).await,
            "complete" => self.complete(request).await,
            "fail" => self.fail(request).await,
            "tokens" => {
                controller.set_tokens(text(request, "tokens")).unwrap();
                Value::Null
            }
            "kill the controller" => {
                controller.kill().unwrap();
                Value::Null
            }
            "restart the controller" => {
                controller.restart().await.unwrap();
                Value::Null
            }
            "expiring token" => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
                let end = now + request["seconds"].as_u64().unwrap();
                json!(self.issuer.token_with(|claims| {
                    claims["exp"] = json!(end);
                    claims["nbf"] = json!(now - 60);
                    claims["sub"] = json!(text(request, "subject"));
                }))
            }
            other => panic!("the browser asks for {other:?}"),
        }
    }

    async fn register(&mut self, name: &str, slots: i64) -> Value {
        let capability = wire::NodeCapability {
            gpu_vendor: "cpu".into(),
            backends: vec!["cpu".into()],
            concurrency: i32::try_from(slots).unwrap(),
            labels: BTreeMap::from([("zone".to_owned(), "eu-1a".to_owned())]),
            device: "AMD EPYC 9354P".into(),
        };
        let request =
            wire::RegisterNodeRequest { name: name.to_owned(), capability: Some(capability), resource: None };
        let session = self.client.register_node(request).await.unwrap().into_inner();
        let node = TestNode {
            client: self.client.clone(),
            node_id: session.node_id,
            session_token: session.session_token,
            backends: vec!["cpu".into()],
            serves: vec![],
        };
        self.nodes.insert(name.to_owned(), node);
        Value::Null
    }

    async fn pull(&mut self, name: &str) -> Value {
        let job = self.nodes[name].pull().await.unwrap_or_else(|| panic!("no job for {name}"));
        let id = job.id.clone();
        self.jobs.insert(id.clone(), (name.to_owned(), job));
        json!(id)
    }

    fn of_job(&self, request: &Value) -> (&TestNode, &wire::Job) {
        let (node, job) = &self.jobs[text(request, "job")];
        (&self.nodes[node], job)
    }

    async fn progress(&self, request: &Value) -> Value {
        let (node, job) = self.of_job(request);
        let number = |field: &str| request[field].as_u64().unwrap();
        let progress = wire::Progress { frames_done: number("done"), frames_total: number("total") };
        let heartbeat = wire::HeartbeatRequest {
            node_id: node.node_id.clone(),
            session_token: node.session_token.clone(),
            running_job_ids: vec![job.id.clone()],
            progress: vec![wire::JobProgress {
                job_id: job.id.clone(),
                attempt: job.attempt,
                progress: Some(progress),
            }],
            ..Default::default()
        };
        let response = node.client.clone().heartbeat(heartbeat).await.unwrap().into_inner();
        assert!(response.ok);
        Value::Null
    }

    async fn complete(&self, request: &Value) -> Value {
        let (node, job) = self.of_job(request);
        let score = request["score"].as_f64().unwrap();
        let mut report = node.report_request(job, score);
        let features = ["vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "adm2", "motion2"];
        let means = [0.512_34, 0.874_22, 0.921_04, 0.951_87, 0.968_71, 4.218_3];
        report.features = features.iter().zip(means).map(|(name, mean)| ((*name).to_owned(), mean)).collect();
        report.result = Some(wire::ResultDetails {
            model: "vmaf_v0.6.1".into(),
            model_digest: format!("sha256:{}", "4fb8d7".repeat(11).chars().take(64).collect::<String>()),
            backend: "cpu".into(),
            frames: 4_320,
            size: Some(wire::PictureSize { width: 1920, height: 1080 }),
            scores: Some(wire::PooledScores {
                mean: score,
                harmonic_mean: score - 0.62,
                min: score - 21.4,
                max: (score + 5.1).min(100.0),
                stddev: 4.37,
                p1: score - 14.2,
                p5: score - 8.1,
                p10: score - 5.3,
                p50: score + 1.2,
            }),
            warnings: request["warnings"].as_array().map_or(vec![], |warnings| {
                warnings.iter().map(|warning| warning.as_str().unwrap().to_owned()).collect()
            }),
            report_uri: "s3://renditions/reports/trailer.json".into(),
            confinement: Some(wire::Confinement {
                landlock_abi: 4,
                seccomp: true,
                memory_bytes: 2 << 30,
                cpu_seconds: 14_400,
                wall_seconds: 3_600,
            }),
            engine: "native-avx512".into(),
        });
        node.report(report).await.unwrap();
        Value::Null
    }

    async fn fail(&self, request: &Value) -> Value {
        let (node, job) = self.of_job(request);
        let mut report = node.report_request(job, 0.0);
        report.error = text(request, "error").to_owned();
        report.failure_reason = wire::FailureReason::from_str_name(text(request, "reason")).unwrap().into();
        node.report(report).await.unwrap();
        Value::Null
    }
}
