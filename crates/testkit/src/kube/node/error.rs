use std::io;
use std::path::PathBuf;

use super::super::assets::AssetError;
use super::super::cluster::ClusterError;
use super::super::pki::PkiError;
use super::super::process::ProcessError;
use crate::wait::TimedOut;
use vmafx_image::ImageError;

#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("this machine cannot run a whole node: {0}")]
    Impossible(String),
    #[error("a cluster already runs in {}", .state.display())]
    AlreadyRunning { state: PathBuf },
    #[error("no cluster runs in {}", .state.display())]
    NotRunning { state: PathBuf },
    #[error("the path of the state directory is too long for a socket: {}", .state.display())]
    LongPath { state: PathBuf },
    #[error("cannot find or build the cluster's programs")]
    Assets(#[from] AssetError),
    #[error("cannot create the cluster's certificates")]
    Pki(#[from] PkiError),
    #[error("cannot create the sandbox image")]
    Image(#[from] ImageError),
    #[error("a server of the cluster failed")]
    Process(#[from] ProcessError),
    #[error("cannot use the cluster")]
    Cluster(#[from] ClusterError),
    /// The supervisor ended before the node was ready; `log` is the end of its log.
    #[error("the cluster ended before it was ready:\n{log}")]
    Ended { log: String },
    #[error("the cluster is not ready:\n{log}")]
    NotReady {
        log: String,
        #[source]
        source: TimedOut,
    },
    #[error("the cluster did not stop")]
    NotEnding(#[source] TimedOut),
    #[error("`{command}` failed: {output}")]
    Command { command: String, output: String },
    #[error("{step} failed")]
    System {
        step: &'static str,
        #[source]
        source: io::Error,
    },
}

/// Adds the operation to a system error.
pub(super) trait ResultExt<T> {
    /// `step` reads as "… failed".
    fn step(self, step: &'static str) -> Result<T, NodeError>;
}

impl<T, E: Into<io::Error>> ResultExt<T> for Result<T, E> {
    fn step(self, step: &'static str) -> Result<T, NodeError> {
        self.map_err(|source| NodeError::System { step, source: source.into() })
    }
}
