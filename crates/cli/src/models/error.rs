use std::io;
use std::path::PathBuf;

use vmafx_oci::{OciError, ReferenceError};
use vmafx_scoring::engine::models::ModelError;
use vmafx_trainer::learner;

#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error("cannot read {resource}")]
    Registry {
        resource: String,
        #[source]
        source: OciError,
    },
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model is not a support vector machine that can be inspected, such as a collection of models.
    #[error(transparent)]
    Machine(#[from] learner::ModelError),
    #[error("{repository} has no checkpoints{}", .name.as_ref().map(|name| format!(" of a training {name:?}")).unwrap_or_default())]
    NoCheckpoints { repository: String, name: Option<String> },
    /// A plot shows one training.
    #[error("{repository} has checkpoints of several trainings: choose one with --name {}", .names.join(" or --name "))]
    SeveralTrainings { repository: String, names: Vec<String> },
    #[error("cannot {action} {}", .path.display())]
    File {
        path: PathBuf,
        /// `read` or `write`.
        action: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("{}: {problem}", .path.display())]
    InvalidCsv { path: PathBuf, problem: String },
}
