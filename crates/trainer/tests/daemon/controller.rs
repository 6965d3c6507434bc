//! A controller in the test process, and a fake node that reports given features.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use tokio::task::JoinSet;
use vmafx_controller::settings::Settings;
use vmafx_kit::config::{Environment, GoDuration, parse};
use vmafx_kit::tasks::{Shutdown, TaskError, TaskSet};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;

use crate::clips::Clip;

type Client = VmafxControllerClient<tonic::transport::Channel>;

const MAX_CONCURRENT_CALLS: usize = 32;

pub(crate) struct Controller {
    pub(crate) address: String,
    directory: tempfile::TempDir,
    client: Client,
    shutdown: Shutdown,
    running: JoinSet<Result<(), TaskError>>,
}

impl Controller {
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let address = free_address();
        let (client, shutdown, running) = serve(&address, directory.path().join("queue.db")).await;
        Self { address, directory, client, shutdown, running }
    }

    pub(crate) async fn stop(&mut self) {
        self.shutdown.begin();
        while self.running.join_next().await.is_some() {}
    }

    /// Starts again at the same address.
    pub(crate) async fn restart(&mut self) {
        let (client, shutdown, running) = serve(&self.address, self.store()).await;
        (self.client, self.shutdown, self.running) = (client, shutdown, running);
    }

    /// Path of its SQLite file.
    pub(crate) fn store(&self) -> PathBuf {
        self.directory.path().join("queue.db")
    }

    /// Submits each clip with its label, and reports its features as a node of this name. Returns the ids of the jobs.
    pub(crate) async fn score_and_label(&self, node: &str, clips: &[Clip]) -> Vec<String> {
        let node = Node::register(self.client.clone(), node).await;
        let mut jobs = Vec::new();
        for clip in clips {
            let truth = wire::GroundTruth { value: clip.label, scale: 0 };
            let request = wire::SubmitJobRequest {
                scoring: Some(wire::ScoringParams {
                    reference: "/clips/r.y4m".into(),
                    distorted: "/clips/d.y4m".into(),
                    ..Default::default()
                }),
                ground_truth: Some(truth),
                ..Default::default()
            };
            let job_id = self.client.clone().submit_job(request).await.unwrap().into_inner().job_id;
            node.score(&job_id, clip).await;
            jobs.push(job_id);
        }
        jobs
    }

    /// Labels jobs again; each label creates a new sample.
    pub(crate) async fn label(&self, labels: impl IntoIterator<Item = (String, f64)>) {
        let label = |(job, value): (String, f64)| {
            let mut client = self.client.clone();
            async move {
                let request = wire::LabelJobRequest {
                    target: Some(wire::label_job_request::Target::JobId(job)),
                    ground_truth: Some(wire::GroundTruth { value, scale: 0 }),
                };
                assert!(client.label_job(request).await.unwrap().into_inner().sampled);
            }
        };
        stream::iter(labels).map(label).buffer_unordered(MAX_CONCURRENT_CALLS).collect::<()>().await;
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

struct Node {
    client: Client,
    session: wire::RegisterNodeResponse,
}

impl Node {
    async fn register(mut client: Client, name: &str) -> Self {
        let request = wire::RegisterNodeRequest {
            name: name.to_owned(),
            capability: Some(capability(name)),
            ..Default::default()
        };
        let session = client.register_node(request).await.unwrap().into_inner();
        Self { client, session }
    }

    async fn score(&self, job_id: &str, clip: &Clip) {
        let mut client = self.client.clone();
        let request = wire::PullWorkRequest {
            node_id: self.session.node_id.clone(),
            session_token: self.session.session_token.clone(),
            capability: Some(capability("")),
            wait_ms: 10_000,
        };
        let job = client.pull_work(request).await.unwrap().into_inner().job.unwrap();
        assert_eq!(job.id, job_id);
        let report = wire::ReportResultRequest {
            node_id: self.session.node_id.clone(),
            session_token: self.session.session_token.clone(),
            job_id: job.id,
            r#final: true,
            score: 50.0,
            features: clip.features.clone(),
            attempt: job.attempt,
            ..Default::default()
        };
        assert!(client.report_result(report).await.unwrap().into_inner().ok);
    }
}

fn capability(name: &str) -> wire::NodeCapability {
    wire::NodeCapability {
        gpu_vendor: "cpu".into(),
        backends: vec!["cpu".into()],
        concurrency: 1,
        labels: [("pool".to_owned(), name.to_owned())].into(),
        ..Default::default()
    }
}

async fn serve(address: &str, store: PathBuf) -> (Client, Shutdown, JoinSet<Result<(), TaskError>>) {
    let arguments = [
        "vmafx-controller",
        "--auth-disabled",
        "--http-addr=0",
        &format!("--grpc-listen={address}"),
        &format!("--db-path={}", store.display()),
        "--scoring-roots=/clips",
    ];
    let settings: Settings = parse(arguments, &Environment::default(), &[]).ok().unwrap();
    let shutdown = Shutdown::new();
    let mut tasks = TaskSet::new(shutdown.clone());
    vmafx_controller::start::start(settings, &mut tasks).await.unwrap();
    let mut running = JoinSet::new();
    running.spawn(tasks.run(stream::pending(), GoDuration(Duration::from_secs(10))));
    let client = VmafxControllerClient::connect(format!("http://{address}")).await.unwrap();
    (client, shutdown, running)
}

pub(crate) fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}
