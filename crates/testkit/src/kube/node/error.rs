//! What can go wrong with a whole node.

use std::io;
use std::path::PathBuf;

use super::super::assets::AssetError;
use super::super::cluster::ClusterError;
use super::super::pki::PkiError;
use super::super::process::ProcessError;
use crate::wait::TimedOut;
use vmafx_image::ImageError;

/// Why there is no whole node, or why it could not be used.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// This machine cannot run one.
    #[error("this machine cannot run a whole node: {0}")]
    Impossible(String),
    /// One runs already.
    #[error("a cluster runs in {} already", .state.display())]
    AlreadyRunning {
        /// Where.
        state: PathBuf,
    },
    /// None runs.
    #[error("no cluster runs in {}", .state.display())]
    NotRunning {
        /// Where.
        state: PathBuf,
    },
    /// A path that the kernel cannot take for a socket.
    #[error("the state directory's path is too long for a socket: {}", .state.display())]
    LongPath {
        /// Where.
        state: PathBuf,
    },
    /// A program is missing.
    #[error("the cluster's programs are not there")]
    Assets(#[from] AssetError),
    /// Certificates.
    #[error("the cluster's certificates could not be made")]
    Pki(#[from] PkiError),
    /// The image that every Pod needs.
    #[error("the sandbox image could not be made")]
    Image(#[from] ImageError),
    /// A server did not start, or ended.
    #[error("a server of the cluster failed")]
    Process(#[from] ProcessError),
    /// It started but cannot be used.
    #[error("the cluster cannot be used")]
    Cluster(#[from] ClusterError),
    /// The keeper ended before the node was ready; the log says why.
    #[error("the cluster ended before it was ready:\n{log}")]
    Ended {
        /// The end of the keeper's log.
        log: String,
    },
    /// It takes too long.
    #[error("the cluster is not ready:\n{log}")]
    NotReady {
        /// The end of the keeper's log.
        log: String,
        /// What was waited for.
        #[source]
        source: TimedOut,
    },
    /// It does not end.
    #[error("the cluster does not end")]
    NotEnding(#[source] TimedOut),
    /// A command failed.
    #[error("`{command}` failed: {output}")]
    Command {
        /// What was run.
        command: String,
        /// What it printed.
        output: String,
    },
    /// The system refused something.
    #[error("{step} failed")]
    System {
        /// What was being done.
        step: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Says what was being done when the system refused.
pub(super) trait Step<T> {
    /// `step` reads as "… failed".
    fn step(self, step: &'static str) -> Result<T, NodeError>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, step: &'static str) -> Result<T, NodeError> {
        self.map_err(|source| NodeError::System { step, source: source.into() })
    }
}
