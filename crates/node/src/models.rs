//! Finds the model that a job names.
//!
//! | name                                     | is                                                                    |
//! |------------------------------------------|-----------------------------------------------------------------------|
//! | empty                                    | `VMAFX_DEFAULT_MODEL`, or the one that fits the clip                   |
//! | `auto`                                   | the one that fits the clip                                            |
//! | `vmaf_v0.6.1` and its kin                | built into libvmaf, the same on every node                            |
//! | any other name                           | a file in `VMAFX_MODEL_DIR` or in a family's directory there           |
//! | `oci://registry/repo:tag`, `…@sha256:…`  | an artifact of a registry ([`oci`]), kept by its digest                |
//!
//! Built-in names come first: a name that is built in means the same everywhere, whatever lies in a directory.

mod directory;
mod oci;
mod settings;

use std::ops::Deref;

use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, FailureReason};
use vmafx_scoring::engine::models::{self as engine, ModelError};

use crate::fetch::Fetcher;
use crate::scratch::ScratchError;
use crate::task::ModelSource;

use directory::Directory;
use oci::{Artifacts, Pin};
pub use settings::ModelSettings;
pub use vmafx_oci::{ReferenceError, RegistryCredentials};

/// A model that is here. As long as this value lives, its file is not cleared away.
#[derive(Debug)]
pub struct Found {
    model: ModelSource,
    _pin: Option<Pin>,
}

impl Deref for Found {
    type Target = ModelSource;

    fn deref(&self) -> &ModelSource {
        &self.model
    }
}

impl From<ModelSource> for Found {
    fn from(model: ModelSource) -> Self {
        Self { model, _pin: None }
    }
}

/// Where models come from.
#[derive(Debug)]
pub struct Models {
    default: Option<String>,
    directory: Option<Directory>,
    artifacts: Artifacts,
}

impl Models {
    /// Artifacts are kept in the scratch directory of `fetcher`, beside what processes have there for themselves.
    pub fn new(
        settings: &ModelSettings,
        credentials: RegistryCredentials,
        fetcher: &Fetcher,
    ) -> Result<Self, ScratchError> {
        Ok(Self {
            default: settings.default_model.clone().filter(|name| !name.is_empty()),
            directory: settings.model_dir.as_deref().map(Directory::new),
            artifacts: Artifacts::new(settings, credentials, fetcher)?,
        })
    }

    /// Finds the model that is meant.
    pub async fn find(&self, name: &str, cancel: &CancellationToken) -> Result<Found, Failure> {
        let name = if name.is_empty() { self.default.as_deref().unwrap_or("auto") } else { name };
        if name == "auto" {
            return Ok(ModelSource::Auto.into());
        }
        if name.starts_with("oci://") {
            return tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Failure::new(FailureReason::Internal, "fetching the model was cancelled")),
                found = self.artifacts.find(name) => found,
            };
        }
        if engine::built_in().any(|model| model.name == name) {
            return Ok(ModelSource::BuiltIn(name.to_owned()).into());
        }
        match &self.directory {
            Some(directory) => match directory.find(name).await? {
                Some(path) => Ok(ModelSource::File { path, name: name.to_owned() }.into()),
                None => Err(unknown(name, "and no such file in VMAFX_MODEL_DIR")),
            },
            None => Err(unknown(name, "and this node has no directory of models (VMAFX_MODEL_DIR)")),
        }
    }
}

fn unknown(name: &str, beside: &str) -> Failure {
    let shown: String = name.chars().take(100).collect();
    let nearest = match engine::Model::named(&shown) {
        Err(ModelError::Unknown { nearest, .. }) => nearest,
        _ => Vec::new(),
    };
    let hint =
        if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(" or ")) };
    Failure::new(FailureReason::ModelNotFound, format!("there is no model {shown:?} {beside}{hint}"))
}
