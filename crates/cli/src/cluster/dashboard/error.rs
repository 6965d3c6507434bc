//! Failures of the dashboard, with what to do about them.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::cluster::error::KubeError;

#[derive(Debug, thiserror::Error)]
pub enum DashboardError {
    #[error(transparent)]
    Kube(#[from] KubeError),
    #[error("cannot listen on 127.0.0.1:{port}: give another --port, or none for a free one")]
    Listen {
        port: u16,
        #[source]
        source: io::Error,
    },
    #[error(
        "there is no controller in {place}: its Service has the labels app.kubernetes.io/part-of=vmafx and \
         app.kubernetes.io/component=controller. Install the chart, or check the context"
    )]
    NoController { place: String },
    #[error("there are several controllers ({}): give --controller-namespace", .0.join(", "))]
    SeveralControllers(Vec<String>),
    #[error("you may not list the Services of all namespaces: give --controller-namespace NAMESPACE")]
    NamespaceRequired,
    #[error("{service} has no port named http: it is not the Service of the chart")]
    NoHttpPort { service: String },
    #[error("{service} has no Pod that is ready: kubectl -n {namespace} get pods")]
    NoReadyPod { service: String, namespace: String },
    #[error(
        "there is no certificate authority for {service}: the ConfigMap {config_map} has no ca.crt. Give \
         --controller-ca-file with the authority of the controller's certificate"
    )]
    NoAuthority { service: String, config_map: String },
    #[error("{} contains no certificate", .0.display())]
    InvalidAuthority(PathBuf),
    #[error("the authority of {service} contains no certificate")]
    InvalidPublishedAuthority { service: String },
    #[error("cannot read {}", .file.display())]
    File {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the TLS handshake with {service} failed: {cause}")]
    Handshake { service: String, cause: String },
    /// The port-forward or the handshake failed, within the pool of connections.
    #[error("{0}")]
    NotConnected(String),
    #[error("cannot send a request to the controller: {cause}")]
    Connection { cause: String },
    #[error("the controller does not respond within {0:?}")]
    Timeout(Duration),
    #[error("the controller serves no dashboard: set controller.dashboard=true in the values of the chart")]
    SwitchedOff,
    #[error("the controller responded to GET /session with status {0}")]
    UnexpectedResponse(u16),
    #[error(
        "the controller needs a token: give --service-account [NAMESPACE/]NAME of a ServiceAccount with a role in \
         auth.subjects of the chart, or --token-file FILE"
    )]
    TokenRequired,
    #[error("the token of {0} cannot be sent: it has characters that a header may not have")]
    InvalidToken(String),
    #[error(
        "the controller does not accept the token of {0}: auth.subjects of the chart gives a ServiceAccount its role, \
         and --audience must be auth.audience"
    )]
    TokenRefused(String),
}
