//! A cluster for tests, and namespaces in it.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::config::KubeconfigError;
use kube::{Api, Client, Config};

use super::kubeconfig;

#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error("cannot use the kubeconfig {}", .path.display())]
    Kubeconfig {
        path: PathBuf,
        #[source]
        source: KubeconfigError,
    },
    #[error("cannot create a client for the cluster")]
    Client(#[source] kube::Error),
    #[error("cannot create a namespace for the test")]
    Namespace(#[source] kube::Error),
}

/// A cluster that is reached through a kubeconfig. Cheap to clone; each runtime creates its own clients.
#[derive(Debug, Clone)]
pub struct TestCluster {
    config: Config,
    kubeconfig: PathBuf,
    /// Whether the cluster still exists after the tests, so that they must clean up.
    outlives_tests: bool,
}

impl TestCluster {
    pub async fn from_kubeconfig(path: &Path) -> Result<Self, ClusterError> {
        Self::read(path, true).await
    }

    /// A cluster that its owner discards with everything in it.
    pub(crate) async fn disposable(path: &Path) -> Result<Self, ClusterError> {
        Self::read(path, false).await
    }

    async fn read(path: &Path, outlives_tests: bool) -> Result<Self, ClusterError> {
        let config = kubeconfig::read(path)
            .await
            .map_err(|source| ClusterError::Kubeconfig { path: path.to_owned(), source })?;
        Ok(Self { config, kubeconfig: path.to_owned(), outlives_tests })
    }

    /// A client with all permissions, bound to the current runtime.
    ///
    /// Every `#[tokio::test]` has its own runtime, and a client's connections die with it: share the cluster between
    /// tests, never a client.
    pub fn client(&self) -> Result<Client, ClusterError> {
        Client::try_from(self.config.clone()).map_err(ClusterError::Client)
    }

    /// The configuration of clients, for callers that change it first.
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig
    }

    /// Creates a namespace for one test, with the `default` service account that Pods need.
    pub async fn namespace(&self, prefix: &str) -> Result<TestNamespace, ClusterError> {
        let client = self.client()?;
        let namespace = Namespace {
            metadata: ObjectMeta { generate_name: Some(format!("{prefix}-")), ..ObjectMeta::default() },
            ..Namespace::default()
        };
        let namespaces = Api::<Namespace>::all(client.clone());
        let created =
            namespaces.create(&PostParams::default(), &namespace).await.map_err(ClusterError::Namespace)?;
        let name = created.metadata.name.unwrap_or_default();
        let created = TestNamespace { name, client, cluster: self.clone() };
        created.create_default_service_account().await?;
        Ok(created)
    }
}

/// The namespace of one test.
pub struct TestNamespace {
    name: String,
    client: Client,
    cluster: TestCluster,
}

impl TestNamespace {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A client with all permissions, bound to the runtime in which the namespace was created.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    pub fn cluster(&self) -> &TestCluster {
        &self.cluster
    }

    /// Without a controller manager nothing else creates it, and every Pod would be rejected.
    async fn create_default_service_account(&self) -> Result<(), ClusterError> {
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
    /// Requests the deletion of the namespace, on its own thread and connection because the test's runtime may be
    /// ending. Errors are ignored: a leftover namespace is not a failure.
    fn drop(&mut self) {
        const DELETE_TIMEOUT: Duration = Duration::from_secs(5);
        if !self.cluster.outlives_tests {
            return;
        }
        let (cluster, name) = (self.cluster.clone(), self.name.clone());
        let delete = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let namespaces = Api::<Namespace>::all(cluster.client().ok()?);
                let params = DeleteParams::background();
                tokio::time::timeout(DELETE_TIMEOUT, namespaces.delete(&name, &params)).await.ok()?.ok()
            })
        });
        let _ = delete.join();
    }
}
