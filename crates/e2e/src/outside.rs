//! What a company has outside of its cluster: an object store, a registry, a database.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use vmafx_testkit::kube::WholeNode;
use vmafx_testkit::kube::node;
use vmafx_testkit::postgres;
use vmafx_testkit::registry::{RegistryAuth, RegistryServer};
use vmafx_testkit::s3::S3Server;

/// Servers on this machine that Pods reach by an address of the node.
#[derive(Debug)]
pub struct Outside {
    s3: S3,
    registry: (RegistryServer, node::HostForward),
    postgres: (postgres::PostgresServer, node::HostForward),
}

/// An object store.
#[derive(Debug)]
pub struct S3 {
    server: S3Server,
    way: node::HostForward,
}

impl Outside {
    pub(crate) async fn start(cluster: &WholeNode) -> Result<Self> {
        let (s3, registry, postgres) = tokio::join!(
            S3Server::start(),
            RegistryServer::start(RegistryAuth::Open),
            postgres::PostgresServer::start()
        );
        let (s3, registry, postgres) =
            (s3.context("S3")?, registry.context("a registry")?, postgres.context("Postgres")?);
        let open = |address: &str| anyhow::Ok(cluster.forward_to_host(address.parse::<SocketAddr>()?)?);
        let (host, port) = postgres.address();
        Ok(Self {
            s3: S3 { way: open(s3.url().trim_start_matches("http://"))?, server: s3 },
            registry: open(registry.address()).map(|way| (registry, way))?,
            postgres: open(&format!("{host}:{port}")).map(|way| (postgres, way))?,
        })
    }

    /// The object store.
    pub fn s3(&self) -> &S3 {
        &self.s3
    }

    /// `host:port` of the registry for Pods. It has no TLS.
    pub fn registry(&self) -> &str {
        self.registry.1.address()
    }

    /// `host:port` of the registry here.
    pub fn registry_here(&self) -> &str {
        self.registry.0.address()
    }

    /// A database of its own; its address for Pods.
    pub async fn database(&self) -> Result<String> {
        let (server, way) = &self.postgres;
        let database = server.database().await?;
        let (host, port) = server.address();
        Ok(database.dsn().replace(&format!("@{host}:{port}/"), &format!("@{}/", way.address())))
    }

    /// The address here of a database whose address for Pods this is.
    pub fn database_here(&self, for_pods: &str) -> String {
        let (server, way) = &self.postgres;
        let (host, port) = server.address();
        for_pods.replace(&format!("@{}/", way.address()), &format!("@{host}:{port}/"))
    }
}

impl S3 {
    /// Puts an object there.
    pub fn put(&self, bucket: &str, key: &str, content: &[u8]) -> Result<()> {
        self.server.put(bucket, key, content).with_context(|| format!("s3://{bucket}/{key} cannot be put"))
    }

    /// The variables that a client in a Pod needs: what users have in a Secret.
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut variables = self.server.variables();
        for (name, value) in &mut variables {
            if name == "AWS_ENDPOINT_URL" {
                *value = format!("http://{}", self.way.address());
            }
        }
        variables
    }
}
