//! A cluster that can be reached, whoever runs it.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::config::KubeconfigError;
use kube::{Api, Client, Config};

use super::kubeconfig;

/// Why a cluster could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Its kubeconfig is of no use.
    #[error("the kubeconfig {} cannot be used", .path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: KubeconfigError,
    },
    /// No client could be made from it.
    #[error("no client could be made for the cluster")]
    Client(#[source] kube::Error),
    /// A namespace could not be made.
    #[error("no namespace could be made for the test")]
    Namespace(#[source] kube::Error),
}

/// How to reach a cluster. Cheap to clone; clients are made from it, one per runtime.
#[derive(Debug, Clone)]
pub struct Cluster {
    config: Config,
    kubeconfig: PathBuf,
    /// Whether the cluster is still there when the tests are over, so that they must tidy up after themselves.
    outlives_tests: bool,
}

impl Cluster {
    /// The cluster that a kubeconfig names.
    pub async fn from_kubeconfig(path: &Path) -> Result<Self, ClusterError> {
        Self::read(path, true).await
    }

    /// The cluster that a kubeconfig names, thrown away with everything in it when its owner is done.
    pub(crate) async fn disposable(path: &Path) -> Result<Self, ClusterError> {
        Self::read(path, false).await
    }

    async fn read(path: &Path, outlives_tests: bool) -> Result<Self, ClusterError> {
        let config = kubeconfig::read(path)
            .await
            .map_err(|source| ClusterError::Kubeconfig { path: path.to_owned(), source })?;
        Ok(Self { config, kubeconfig: path.to_owned(), outlives_tests })
    }

    /// A client that may do everything, tied to the runtime it is made in.
    ///
    /// Every `#[tokio::test]` has a runtime of its own, and a client's connections die with it: share the cluster
    /// between tests, never a client.
    pub fn client(&self) -> Result<Client, ClusterError> {
        Client::try_from(self.config.clone()).map_err(ClusterError::Client)
    }

    /// What a client is made from, for those who want to change it first.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The kubeconfig's file.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig
    }

    /// A namespace for one test, named after it, with the `default` service account that Pods need.
    pub async fn namespace(&self, prefix: &str) -> Result<TestNamespace, ClusterError> {
        let client = self.client()?;
        let namespace = Namespace {
            metadata: ObjectMeta { generate_name: Some(format!("{prefix}-")), ..ObjectMeta::default() },
            ..Namespace::default()
        };
        let namespaces = Api::<Namespace>::all(client.clone());
        let made =
            namespaces.create(&PostParams::default(), &namespace).await.map_err(ClusterError::Namespace)?;
        let name = made.metadata.name.unwrap_or_default();
        let made = TestNamespace { name, client, cluster: self.clone() };
        made.default_service_account().await?;
        Ok(made)
    }
}

/// A namespace of one test, and a client for it.
pub struct TestNamespace {
    name: String,
    client: Client,
    cluster: Cluster,
}

impl TestNamespace {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A client that may do everything, in the runtime that the namespace was made in.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The cluster it is in.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Where there is no controller manager nobody else makes it, and every Pod would be refused.
    async fn default_service_account(&self) -> Result<(), ClusterError> {
        let account = ServiceAccount {
            metadata: ObjectMeta { name: Some("default".to_owned()), ..ObjectMeta::default() },
            ..ServiceAccount::default()
        };
        let accounts = Api::<ServiceAccount>::namespaced(self.client(), &self.name);
        match accounts.create(&PostParams::default(), &account).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            other => other.map(drop).map_err(ClusterError::Namespace),
        }
    }
}

impl Drop for TestNamespace {
    /// Asks for the namespace's deletion, on a thread and a connection of its own because the test's runtime
    /// may be ending. Nobody waits for the result: a namespace left behind is a nuisance, not a failure.
    fn drop(&mut self) {
        const PATIENCE: Duration = Duration::from_secs(5);
        if !self.cluster.outlives_tests {
            return;
        }
        let (cluster, name) = (self.cluster.clone(), self.name.clone());
        let delete = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let namespaces = Api::<Namespace>::all(cluster.client().ok()?);
                let params = DeleteParams::background();
                tokio::time::timeout(PATIENCE, namespaces.delete(&name, &params)).await.ok()?.ok()
            })
        });
        let _ = delete.join();
    }
}
