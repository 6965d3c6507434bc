//! Connections to controllers, and what goes over them.

use anyhow::{Context as _, ensure};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;

/// A client with a token.
pub(crate) type Client = VmafxControllerClient<InterceptedService<Channel, Bearer>>;

/// Connections to each controller: enough that one does not hold up the others.
const CONNECTIONS: usize = 4;

/// Puts the token into every call.
#[derive(Clone)]
pub(crate) struct Bearer(MetadataValue<Ascii>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

/// A few connections to each controller.
pub(crate) struct Callers(Vec<Client>);

impl Callers {
    pub(crate) fn new(addresses: &str, token: &str) -> anyhow::Result<Self> {
        let clients = (0..CONNECTIONS).flat_map(|_| addresses.split(',').map(|addr| connect(addr, token)));
        Ok(Self(clients.collect::<Result<_, _>>()?))
    }

    /// One of them; neighbours go to different controllers.
    pub(crate) fn get(&self, number: usize) -> Client {
        self.0[number % self.0.len()].clone()
    }
}

/// A connection that is made when it is first used.
pub(crate) fn connect(addr: &str, token: &str) -> anyhow::Result<Client> {
    let endpoint = Endpoint::from_shared(format!("http://{addr}"))?.tcp_nodelay(true);
    let bearer = Bearer(format!("Bearer {token}").parse().context("the token")?);
    Ok(VmafxControllerClient::with_interceptor(endpoint.connect_lazy(), bearer))
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
pub(crate) struct Node {
    client: Client,
    session: wire::RegisterNodeResponse,
}

impl Node {
    pub(crate) async fn register(mut client: Client, number: usize) -> anyhow::Result<Self> {
        let request = wire::RegisterNodeRequest {
            name: format!("node-{number}"),
            capability: Some(capability()),
            ..Default::default()
        };
        let session = client.register_node(request).await?.into_inner();
        Ok(Self { client, session })
    }

    pub(crate) async fn pull(&mut self, wait_ms: u32) -> anyhow::Result<Option<wire::Job>> {
        let request = wire::PullWorkRequest {
            node_id: self.session.node_id.clone(),
            session_token: self.session.session_token.clone(),
            capability: Some(capability()),
            wait_ms,
        };
        Ok(self.client.pull_work(request).await?.into_inner().job)
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
        let told = self.client.report_result(request).await?.into_inner();
        ensure!(told.ok, "a report was not taken");
        Ok(())
    }

    pub(crate) async fn beat(&mut self) -> anyhow::Result<()> {
        let request = wire::HeartbeatRequest {
            node_id: self.session.node_id.clone(),
            session_token: self.session.session_token.clone(),
            ..Default::default()
        };
        ensure!(self.client.heartbeat(request).await?.into_inner().ok, "a session was lost");
        Ok(())
    }
}

fn capability() -> wire::NodeCapability {
    wire::NodeCapability { backends: vec!["cpu".into()], concurrency: 1, ..Default::default() }
}
