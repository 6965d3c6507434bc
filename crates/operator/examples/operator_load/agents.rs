//! Nodes that score nothing and report at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures::future::try_join_all;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;

use crate::Problem;

/// Concurrent jobs.
const SLOTS: usize = 8;

/// A session with the controller, and when each job was reported, by the name of its resource.
#[derive(Clone)]
pub(crate) struct Agents {
    client: VmafxControllerClient<InterceptedService<Channel, Bearer>>,
    node_id: String,
    session_token: String,
    reported: Arc<Mutex<HashMap<String, Instant>>>,
}

impl Agents {
    pub(crate) async fn register(address: &str, token: &str) -> Result<Self, Problem> {
        let channel = Endpoint::from_shared(format!("http://{address}"))?.connect_lazy();
        let bearer = Bearer(format!("Bearer {token}").parse()?);
        let mut client = VmafxControllerClient::with_interceptor(channel, bearer);
        let request = wire::RegisterNodeRequest {
            name: "bench".to_owned(),
            capability: Some(capability()),
            ..wire::RegisterNodeRequest::default()
        };
        let session = client.register_node(request).await?.into_inner();
        Ok(Self {
            client,
            node_id: session.node_id,
            session_token: session.session_token,
            reported: Arc::default(),
        })
    }

    /// Pulls and reports jobs until it is dropped.
    pub(crate) async fn work(&self) -> Result<(), Problem> {
        try_join_all((0..SLOTS).map(|_| self.slot())).await?;
        Ok(())
    }

    /// When the controller responded to the report for a resource.
    pub(crate) fn reported(&self, resource: &str) -> Option<Instant> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner).get(resource).copied()
    }

    async fn slot(&self) -> Result<(), Problem> {
        loop {
            let pull = wire::PullWorkRequest {
                node_id: self.node_id.clone(),
                session_token: self.session_token.clone(),
                capability: Some(capability()),
                wait_ms: 5_000,
                ..Default::default()
            };
            let Some(job) = self.client.clone().pull_work(pull).await?.into_inner().job else { continue };
            let report = wire::ReportResultRequest {
                node_id: self.node_id.clone(),
                session_token: self.session_token.clone(),
                attempt: job.attempt,
                job_id: job.id,
                r#final: true,
                score: 93.25,
                ..wire::ReportResultRequest::default()
            };
            self.client.clone().report_result(report).await?;
            let name = job.origin.map(|origin| origin.name).unwrap_or_default();
            self.reported.lock().unwrap_or_else(PoisonError::into_inner).insert(name, Instant::now());
        }
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

/// Adds the token to every call.
#[derive(Clone)]
pub(crate) struct Bearer(MetadataValue<Ascii>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}
