//! A node that scores nothing and reports what a test asks for.

use std::time::Duration;

use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::controller::{Client, Controller};

pub(crate) struct Agent {
    client: Client,
    node_id: String,
    session_token: String,
}

impl Agent {
    pub(crate) async fn register(controller: &Controller, name: &str) -> Self {
        Self::register_with(controller.client(), name).await
    }

    pub(crate) async fn register_with(client: Client, name: &str) -> Self {
        Self::register_for(client, name, None).await.unwrap()
    }

    /// Registers for a VmafxNode.
    pub(crate) async fn register_for(
        mut client: Client,
        name: &str,
        resource: Option<wire::ResourceRef>,
    ) -> Result<Self, tonic::Status> {
        let request =
            wire::RegisterNodeRequest { name: name.to_owned(), capability: Some(capability()), resource };
        let response = client.register_node(request).await?.into_inner();
        Ok(Self { client, node_id: response.node_id, session_token: response.session_token })
    }

    pub(crate) async fn pull(&self) -> wire::Job {
        wait::until(TIMEOUT, "a job to pull", || async {
            self.try_pull(Duration::from_secs(1)).await.ok_or_else(|| "nothing".to_owned())
        })
        .await
        .unwrap()
    }

    pub(crate) async fn try_pull(&self, within: Duration) -> Option<wire::Job> {
        let request = wire::PullWorkRequest {
            node_id: self.node_id.clone(),
            session_token: self.session_token.clone(),
            capability: Some(capability()),
            wait_ms: u32::try_from(within.as_millis()).unwrap(),
            ..Default::default()
        };
        self.client.clone().pull_work(request).await.unwrap().into_inner().job
    }

    pub(crate) async fn score(&self, job: &wire::Job, score: f64) {
        let details = wire::ResultDetails {
            model: "vmaf_v0.6.1".to_owned(),
            model_digest: "sha256:0".to_owned(),
            frames: 48,
            scores: Some(wire::PooledScores { mean: score, ..wire::PooledScores::default() }),
            ..wire::ResultDetails::default()
        };
        self.report(wire::ReportResultRequest { score, result: Some(details), ..self.report_of(job) }).await;
    }

    pub(crate) async fn fail(&self, job: &wire::Job, reason: wire::FailureReason, error: &str) {
        let report = self.report_of(job);
        self.report(wire::ReportResultRequest {
            error: error.to_owned(),
            failure_reason: reason.into(),
            ..report
        })
        .await;
    }

    /// Gives an attempt back.
    pub(crate) async fn release(&self, job: &wire::Job) {
        let request = wire::ReleaseJobRequest {
            node_id: self.node_id.clone(),
            session_token: self.session_token.clone(),
            job_id: job.id.clone(),
            tenant: job.tenant.clone(),
            attempt: job.attempt,
            reason: "as the test asks".to_owned(),
        };
        assert!(self.client.clone().release_job(request).await.unwrap().into_inner().ok);
    }

    /// Which of these jobs the controller asks it to stop.
    pub(crate) async fn cancelled(&self, jobs: &[&str]) -> Vec<String> {
        let request = wire::HeartbeatRequest {
            node_id: self.node_id.clone(),
            session_token: self.session_token.clone(),
            running_job_ids: jobs.iter().map(|id| (*id).to_owned()).collect(),
            ..wire::HeartbeatRequest::default()
        };
        self.client.clone().heartbeat(request).await.unwrap().into_inner().cancel_job_ids
    }

    fn report_of(&self, job: &wire::Job) -> wire::ReportResultRequest {
        wire::ReportResultRequest {
            node_id: self.node_id.clone(),
            session_token: self.session_token.clone(),
            job_id: job.id.clone(),
            r#final: true,
            attempt: job.attempt,
            ..wire::ReportResultRequest::default()
        }
    }

    async fn report(&self, report: wire::ReportResultRequest) {
        self.client.clone().report_result(report).await.unwrap();
    }
}

fn capability() -> wire::NodeCapability {
    wire::NodeCapability {
        gpu_vendor: "cpu".to_owned(),
        backends: vec!["cpu".to_owned()],
        concurrency: 64,
        ..wire::NodeCapability::default()
    }
}
