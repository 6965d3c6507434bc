//! Services outside the cluster: an object store, a registry, a database.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use vmafx_testkit::http_gateway::HttpGateway;
use vmafx_testkit::kube::WholeNode;
use vmafx_testkit::kube::node;
use vmafx_testkit::postgres;
use vmafx_testkit::registry::{RegistryAuth, RegistryServer};
use vmafx_testkit::s3::S3Server;

/// Servers on this machine that Pods reach through an address of the node.
#[derive(Debug)]
pub struct ExternalServices {
    s3: S3,
    registry: (RegistryServer, node::HostForward),
    postgres: (postgres::PostgresServer, node::HostForward),
}

#[derive(Debug)]
pub struct S3 {
    server: S3Server,
    gateway: HttpGateway,
    route: node::HostForward,
}

impl ExternalServices {
    pub(crate) async fn start(cluster: &WholeNode) -> Result<Self> {
        let (s3, registry, postgres) = tokio::join!(
            S3Server::start(),
            RegistryServer::start(RegistryAuth::Open),
            postgres::PostgresServer::start()
        );
        let (s3, registry, postgres) = (
            s3.context("cannot start S3")?,
            registry.context("cannot start a registry")?,
            postgres.context("cannot start Postgres")?,
        );
        let gateway = HttpGateway::start(s3.url().trim_start_matches("http://").parse()?)?;
        let open = |address: &str| anyhow::Ok(cluster.forward_to_host(address.parse::<SocketAddr>()?)?);
        let (host, port) = postgres.address();
        Ok(Self {
            s3: S3 { route: open(&gateway.address().to_string())?, gateway, server: s3 },
            registry: open(registry.address()).map(|route| (registry, route))?,
            postgres: open(&format!("{host}:{port}")).map(|route| (postgres, route))?,
        })
    }

    pub fn s3(&self) -> &S3 {
        &self.s3
    }

    /// `host:port` of the registry for Pods. It has no TLS.
    pub fn registry(&self) -> &str {
        self.registry.1.address()
    }

    /// `host:port` of the registry on this machine.
    pub fn registry_on_host(&self) -> &str {
        self.registry.0.address()
    }

    /// Creates a database; its address for Pods.
    pub async fn database(&self) -> Result<String> {
        let (server, route) = &self.postgres;
        let database = server.database().await?;
        let (host, port) = server.address();
        Ok(database.dsn().replace(&format!("@{host}:{port}/"), &format!("@{}/", route.address())))
    }

    /// The port of the node at which Pods reach Postgres.
    pub fn database_port(&self) -> Result<u16> {
        Ok(self.postgres.1.address().parse::<SocketAddr>()?.port())
    }

    /// The address on this machine of a database that [`ExternalServices::database`] returned.
    pub fn database_on_host(&self, for_pods: &str) -> String {
        let (server, route) = &self.postgres;
        let (host, port) = server.address();
        for_pods.replace(&format!("@{}/", route.address()), &format!("@{host}:{port}/"))
    }
}

impl S3 {
    pub fn put(&self, bucket: &str, key: &str, content: &[u8]) -> Result<()> {
        self.server.put(bucket, key, content).with_context(|| format!("cannot upload s3://{bucket}/{key}"))
    }

    /// The gateway between Pods and the server.
    pub fn gateway(&self) -> &HttpGateway {
        &self.gateway
    }

    /// The environment variables of a client in a Pod, which users keep in a Secret.
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut variables = self.server.variables();
        for (name, value) in &mut variables {
            if name == "AWS_ENDPOINT_URL" {
                *value = format!("http://{}", self.route.address());
            }
        }
        variables
    }
}
