//! What is asked of controllers.

use anyhow::ensure;
use vmafx_proto::controller::v1 as wire;

use crate::wire_client::Client;

/// Connections to each controller: enough that one does not hold up the others.
const CONNECTIONS: usize = 4;

/// A few connections to each controller.
pub(crate) struct Callers(Vec<Client>);

impl Callers {
    pub(crate) async fn new(addresses: &str, token: &str) -> anyhow::Result<Self> {
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            for address in addresses.split(',') {
                clients.push(Client::connect(address, token).await?);
            }
        }
        Ok(Self(clients))
    }

    /// One of them; neighbours go to different controllers.
    pub(crate) fn get(&self, number: usize) -> Client {
        self.0[number % self.0.len()].clone()
    }
}

/// Submits a job; its id.
pub(crate) async fn submit(client: &mut Client, job: &wire::SubmitJobRequest) -> anyhow::Result<String> {
    let stored: wire::SubmitJobResponse = client.call("SubmitJob", job).await?;
    Ok(stored.job_id)
}

/// A job of a usual size.
pub(crate) fn job(backend: &str) -> wire::SubmitJobRequest {
    wire::SubmitJobRequest {
        scoring: Some(wire::ScoringParams {
            reference: "/clips/reference/big-buck-bunny-1080p.y4m".into(),
            distorted: "/clips/encodes/big-buck-bunny-1080p-crf28.mp4".into(),
            model: "vmaf_v0.6.1".into(),
            backend: backend.into(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// A node with a session, on one of the connections.
#[derive(Clone)]
pub(crate) struct LoadNode {
    client: Client,
    session: wire::RegisterNodeResponse,
}

impl LoadNode {
    pub(crate) async fn register(mut client: Client, number: usize) -> anyhow::Result<Self> {
        let request = wire::RegisterNodeRequest {
            name: format!("node-{number}"),
            capability: Some(capability()),
            ..Default::default()
        };
        let session = client.call("RegisterNode", &request).await?;
        Ok(Self { client, session })
    }

    pub(crate) async fn pull(&mut self, wait_ms: u32) -> anyhow::Result<Option<wire::Job>> {
        let request = wire::PullWorkRequest {
            node_id: self.session.node_id.clone(),
            session_token: self.session.session_token.clone(),
            capability: Some(capability()),
            wait_ms,
            ..Default::default()
        };
        let pulled: wire::PullWorkResponse = self.client.call("PullWork", &request).await?;
        Ok(pulled.job)
    }

    pub(crate) async fn report(&mut self, job: &wire::Job) -> anyhow::Result<()> {
        let names = ["adm2", "motion2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3"];
        let request = wire::ReportResultRequest {
            node_id: self.session.node_id.clone(),
            session_token: self.session.session_token.clone(),
            job_id: job.id.clone(),
            r#final: true,
            score: 93.25,
            features: names.into_iter().map(|name| (name.to_owned(), 0.123_456_789)).collect(),
            attempt: job.attempt,
            ..Default::default()
        };
        let told: wire::ReportResultResponse = self.client.call("ReportResult", &request).await?;
        ensure!(told.ok, "a report was not taken");
        Ok(())
    }

    pub(crate) async fn beat(&mut self) -> anyhow::Result<()> {
        let request = wire::HeartbeatRequest {
            node_id: self.session.node_id.clone(),
            session_token: self.session.session_token.clone(),
            ..Default::default()
        };
        let told: wire::HeartbeatResponse = self.client.call("Heartbeat", &request).await?;
        ensure!(told.ok, "a session was lost");
        Ok(())
    }
}

fn capability() -> wire::NodeCapability {
    wire::NodeCapability { backends: vec!["cpu".into()], concurrency: 1, ..Default::default() }
}
