//! What can go wrong with a model.

use std::io;
use std::path::PathBuf;

use vmafx_oci::{OciError, ReferenceError};
use vmafx_scoring::engine::models::ModelError;
use vmafx_trainer::learner;

/// Why a model cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    /// Not a name.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The registry does not give it.
    #[error("{what} cannot be read")]
    Registry {
        /// What was asked for.
        what: String,
        /// Why.
        #[source]
        source: OciError,
    },
    /// No built-in model and no file.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A model of a kind that is not taken apart.
    #[error(transparent)]
    Machine(#[from] learner::ModelError),
    /// There is nothing to show.
    #[error("{repository} has no checkpoints{}", .name.as_ref().map(|name| format!(" of a training {name:?}")).unwrap_or_default())]
    NoCheckpoints {
        /// Where.
        repository: String,
        /// Of which training.
        name: Option<String>,
    },
    /// A plot is of one training.
    #[error("{repository} has checkpoints of several trainings: choose one with --name {}", .names.join(" or --name "))]
    Several {
        /// Where.
        repository: String,
        /// Which ones.
        names: Vec<String>,
    },
    /// A page or a list of clips.
    #[error("{} cannot be {what}", .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Read or written.
        what: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A list of clips that is none.
    #[error("{}: {problem}", .path.display())]
    Clips {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}
