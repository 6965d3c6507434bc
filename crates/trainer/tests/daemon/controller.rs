//! A controller as a child process, and a fake node that reports given features.

use futures::{StreamExt as _, stream};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::controller::{ControllerChannel, ControllerServer};

use crate::clips::Clip;

vmafx_testkit::controller_in_test_program!();

pub(crate) type Client = VmafxControllerClient<ControllerChannel>;

const MAX_CONCURRENT_CALLS: usize = 32;

pub(crate) struct Controller {
    pub(crate) server: ControllerServer,
    pub(crate) address: String,
}

impl Controller {
    pub(crate) async fn start() -> Self {
        let server = controller_config().start().await.unwrap();
        Self { address: server.grpc().to_string(), server }
    }

    /// Sends SIGTERM and waits for a successful exit.
    pub(crate) async fn stop(&mut self) {
        self.server.terminate().unwrap();
        assert!(self.server.exited().await.unwrap().success(), "{}", self.server.log());
    }

    /// A controller that authenticates these subjects, each by a token that is its name.
    pub(crate) async fn with_labellers(names: &[String]) -> Self {
        let entry = |name: &String| {
            format!(
                "  - {{ token: {name}, tenant: t, roles: [vmafx:writer, vmafx:node], subject: {name} }}\n"
            )
        };
        let tokens = format!("tokens:\n{}", names.iter().map(entry).collect::<String>());
        let server = controller_config().tokens(&tokens).start().await.unwrap();
        Self { address: server.grpc().to_string(), server }
    }

    pub(crate) fn client(&self) -> Client {
        self.client_of(None)
    }

    fn client_of(&self, labeller: Option<&str>) -> Client {
        Client::new(self.server.channel(labeller))
    }

    /// The same as [`score_and_label`](Self::score_and_label), by a caller that the controller authenticates.
    pub(crate) async fn score_and_label_as(&self, labeller: &str, node: &str, clips: &[Clip]) -> Vec<String> {
        score_and_label(self.client_of(Some(labeller)), node, clips).await
    }

    /// Submits each clip with its label, and reports its features as a node of this name. Returns the ids of the jobs.
    pub(crate) async fn score_and_label(&self, node: &str, clips: &[Clip]) -> Vec<String> {
        score_and_label(self.client(), node, clips).await
    }

    /// Labels jobs again; each label creates a new sample.
    pub(crate) async fn label(&self, labels: impl IntoIterator<Item = (String, f64)>) {
        let client = self.client();
        let label = |(job, value): (String, f64)| {
            let mut client = client.clone();
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

async fn score_and_label(mut client: Client, node: &str, clips: &[Clip]) -> Vec<String> {
    let node = Node::register(client.clone(), node).await;
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
        let job_id = client.submit_job(request).await.unwrap().into_inner().job_id;
        node.score(&job_id, clip).await;
        jobs.push(job_id);
    }
    jobs
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
            ..Default::default()
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
