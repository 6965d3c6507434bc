#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum NodeStatusMode {
    /// Write if the controller runs inside a cluster.
    Auto,
    /// Always write; without access to a cluster the controller does not start.
    True,
    /// Never write.
    False,
}

impl NodeStatusMode {
    pub async fn client(self) -> Result<Option<kube::Client>, kube::Error> {
        match self {
            Self::False => Ok(None),
            Self::True => kube::Client::try_default().await.map(Some),
            // The kubelet sets this variable in every container.
            Self::Auto if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() => Ok(None),
            Self::Auto => match kube::Client::try_default().await {
                Ok(client) => Ok(Some(client)),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "cannot create a client for the cluster: the status of VmafxNode resources is not written"
                    );
                    Ok(None)
                }
            },
        }
    }
}
