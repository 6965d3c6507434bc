//! A fake node that makes the calls of a real one on request.

use std::collections::BTreeMap;
use std::time::Duration;

use tonic::{Response, Status};
use vmafx_proto::controller::v1 as wire;

use crate::server::Client;

#[derive(Clone)]
pub(crate) struct TestNode {
    pub(crate) client: Client,
    pub(crate) node_id: String,
    pub(crate) session_token: String,
    pub(crate) backends: Vec<String>,
    /// Tenants that the node asks to serve besides its own.
    pub(crate) serves: Vec<String>,
}

impl TestNode {
    /// Registers as `node-0` with the backend cpu.
    pub(crate) async fn register(client: Client) -> Self {
        Self::named(client, "node-0", &["cpu"]).await
    }

    pub(crate) async fn named(mut client: Client, name: &str, backends: &[&str]) -> Self {
        let backends: Vec<String> = backends.iter().map(|&backend| backend.to_owned()).collect();
        let capability = wire::NodeCapability {
            gpu_vendor: "cpu".into(),
            backends: backends.clone(),
            concurrency: 64,
            labels: BTreeMap::from([("pool".to_owned(), name.to_owned())]),
            device: "a device".into(),
        };
        let request =
            wire::RegisterNodeRequest { name: name.to_owned(), capability: Some(capability), resource: None };
        let session = client.register_node(request).await.unwrap().into_inner();
        Self {
            client,
            node_id: session.node_id,
            session_token: session.session_token,
            backends,
            serves: vec![],
        }
    }

    pub(crate) fn pull_request(&self, wait: Duration) -> wire::PullWorkRequest {
        wire::PullWorkRequest {
            node_id: self.node_id.clone(),
            session_token: self.session_token.clone(),
            capability: Some(wire::NodeCapability {
                backends: self.backends.clone(),
                concurrency: 64,
                ..Default::default()
            }),
            wait_ms: u32::try_from(wait.as_millis()).unwrap(),
            serves: self.serves.clone(),
            ..Default::default()
        }
    }

    /// Pulls without waiting.
    pub(crate) async fn pull(&self) -> Option<wire::Job> {
        self.pull_for(Duration::ZERO).await.unwrap()
    }

    pub(crate) async fn pull_for(&self, wait: Duration) -> Result<Option<wire::Job>, Status> {
        let request = self.pull_request(wait);
        self.client.clone().pull_work(request).await.map(|response| response.into_inner().job)
    }

    /// Sends a heartbeat with these running jobs.
    pub(crate) async fn beat(&self, running: &[&str]) -> wire::HeartbeatResponse {
        let request = wire::HeartbeatRequest {
            node_id: self.node_id.clone(),
            session_token: self.session_token.clone(),
            jobs_running: 0,
            running_job_ids: running.iter().map(|&id| id.to_owned()).collect(),
            serves: self.serves.clone(),
            ..Default::default()
        };
        self.client.clone().heartbeat(request).await.unwrap().into_inner()
    }

    /// A final report with this score.
    pub(crate) fn report_request(&self, job: &wire::Job, score: f64) -> wire::ReportResultRequest {
        wire::ReportResultRequest {
            node_id: self.node_id.clone(),
            session_token: self.session_token.clone(),
            job_id: job.id.clone(),
            tenant: job.tenant.clone(),
            r#final: true,
            score,
            features: BTreeMap::from([("vif".to_owned(), 0.5)]),
            attempt: job.attempt,
            ..Default::default()
        }
    }

    pub(crate) async fn complete(&self, job: &wire::Job, score: f64) {
        self.report(self.report_request(job, score)).await.unwrap();
    }

    pub(crate) async fn report(
        &self,
        request: wire::ReportResultRequest,
    ) -> Result<Response<wire::ReportResultResponse>, Status> {
        self.client.clone().report_result(request).await
    }

    /// Whether the release ended the attempt.
    pub(crate) async fn release(&self, job: &wire::Job) -> Result<bool, Status> {
        let request = wire::ReleaseJobRequest {
            node_id: self.node_id.clone(),
            session_token: self.session_token.clone(),
            job_id: job.id.clone(),
            tenant: job.tenant.clone(),
            attempt: job.attempt,
            reason: "shutting down".into(),
        };
        self.client.clone().release_job(request).await.map(|response| response.into_inner().ok)
    }
}

/// A job whose clips are inside the scoring roots.
pub(crate) fn clips() -> wire::SubmitJobRequest {
    wire::SubmitJobRequest {
        scoring: Some(wire::ScoringParams {
            reference: "/clips/r.y4m".into(),
            distorted: "/clips/d.y4m".into(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub(crate) fn clips_for(backend: &str) -> wire::SubmitJobRequest {
    let mut request = clips();
    if let Some(scoring) = &mut request.scoring {
        backend.clone_into(&mut scoring.backend);
    }
    request
}

/// Submits a job and returns its id.
pub(crate) async fn submit(client: &mut Client, request: wire::SubmitJobRequest) -> String {
    client.submit_job(request).await.unwrap().into_inner().job_id
}

pub(crate) async fn get(client: &mut Client, job_id: &str) -> wire::Job {
    let request = wire::GetJobRequest { job_id: job_id.to_owned() };
    client.get_job(request).await.unwrap().into_inner()
}
