//! A controller with a shared pool, and its clients.

use std::ops::Deref;
use std::time::Duration;

use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::controller::{ControllerChannel, ControllerConfig, ControllerServer};
use vmafx_testkit::postgres::PostgresServer;

use crate::node::{TestNode, clips, submit};

pub(crate) type Client = VmafxControllerClient<ControllerChannel>;

const PROGRAM: &str = env!("CARGO_BIN_EXE_vmafx-controller");
const TENANTS: [&str; 6] = ["pool", "a", "b", "c", "newcomer", "stranger"];
pub(crate) const WAIT: Duration = Duration::from_secs(20);
pub(crate) const SLOTS: usize = 8;

/// A controller at which the nodes of `pool` may serve all tenants but `stranger`.
pub(crate) struct Pools(pub(crate) ControllerServer);

impl Pools {
    pub(crate) async fn start(config: impl FnOnce(ControllerConfig) -> ControllerConfig) -> Self {
        let tokens = TENANTS.map(|tenant| {
            format!(
                "- {{token: {}, tenant: {tenant}, roles: ['vmafx:writer', 'vmafx:node']}}\n",
                token(tenant)
            )
        });
        let config_of_pools = ControllerConfig::new(PROGRAM)
            .tokens(&format!("tokens:\n{}", tokens.concat()))
            .env("VMAFX_SCORING_ROOTS", "/clips,/roots/{tenant}")
            .env("VMAFX_SHARED_POOLS", "pool=a+b+c+newcomer, a=b")
            .env("VMAFX_TENANT_WEIGHTS", "c=2");
        Self(config(config_of_pools).start().await.unwrap())
    }

    /// On a store of its own.
    pub(crate) async fn on(store: StoreKind) -> Self {
        Self::with(store, |config| config).await
    }

    pub(crate) async fn with(
        store: StoreKind,
        config: impl FnOnce(ControllerConfig) -> ControllerConfig,
    ) -> Self {
        match store {
            StoreKind::Sqlite => Self::start(config).await,
            StoreKind::Postgres => {
                let database = PostgresServer::shared().await.unwrap().database().await.unwrap();
                let dsn = database.dsn().to_owned();
                Self::start(|base| config(base).postgres(&dsn)).await
            }
        }
    }

    pub(crate) fn client(&self, tenant: &str) -> Client {
        Client::new(self.channel(Some(&token(tenant))))
    }

    pub(crate) async fn node(&self, tenant: &str, name: &str, serves: &[&str]) -> TestNode {
        let node = TestNode::named(self.client(tenant), name, &["cpu"]).await;
        TestNode { serves: serves.iter().map(|&tenant| tenant.to_owned()).collect(), ..node }
    }

    pub(crate) async fn submit(&self, tenant: &str, jobs: usize) {
        let mut client = self.client(tenant);
        for _ in 0..jobs {
            submit(&mut client, clips()).await;
        }
    }
}

impl Deref for Pools {
    type Target = ControllerServer;
    fn deref(&self) -> &ControllerServer {
        &self.0
    }
}

#[derive(Clone, Copy)]
pub(crate) enum StoreKind {
    Sqlite,
    Postgres,
}

pub(crate) fn token(tenant: &str) -> String {
    format!("{tenant}-0123456789abcdef")
}

pub(crate) fn tenant_of(job: &wire::Job) -> &str {
    if job.tenant.is_empty() { "pool" } else { &job.tenant }
}

/// A heartbeat that names these running jobs.
pub(crate) async fn beat(
    node: &TestNode,
    jobs: &[&wire::Job],
) -> Result<wire::HeartbeatResponse, tonic::Status> {
    let guests = jobs.iter().filter(|job| !job.tenant.is_empty());
    let request = wire::HeartbeatRequest {
        node_id: node.node_id.clone(),
        session_token: node.session_token.clone(),
        running_job_ids: jobs.iter().map(|job| job.id.clone()).collect(),
        job_tenants: guests.map(|job| (job.id.clone(), job.tenant.clone())).collect(),
        serves: node.serves.clone(),
        ..Default::default()
    };
    Ok(node.client.clone().heartbeat(request).await?.into_inner())
}
