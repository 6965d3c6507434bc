//! Whether there are resources to write to.

/// When the status of VmafxNode resources is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum NodeStatus {
    /// Inside a cluster.
    Auto,
    /// Always; no client is a reason not to start.
    True,
    /// Never.
    False,
}

impl NodeStatus {
    /// A client for the cluster that we are in, if it is wanted.
    pub async fn client(self) -> Result<Option<kube::Client>, kube::Error> {
        match self {
            Self::False => Ok(None),
            Self::True => kube::Client::try_default().await.map(Some),
            // The kubelet sets it in every container.
            Self::Auto if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() => Ok(None),
            Self::Auto => match kube::Client::try_default().await {
                Ok(client) => Ok(Some(client)),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "the status of nodes is not written: there is no way to the cluster"
                    );
                    Ok(None)
                }
            },
        }
    }
}
