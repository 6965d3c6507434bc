//! Finds the model that a job names.
//!
//! | name                                     | model                                                                 |
//! |------------------------------------------|-----------------------------------------------------------------------|
//! | empty                                    | `VMAFX_DEFAULT_MODEL`, or `auto`                                      |
//! | `auto`                                   | chosen by height and frame rate of the clip                           |
//! | `vmaf_v0.6.1` and the like               | built into libvmaf, the same on every node                            |
//! | any other name                           | a file in `VMAFX_MODEL_DIR` or in the directory of a family there      |
//! | `oci://registry/repo:tag`, `…@sha256:…`  | an artifact of a registry ([`oci`]), cached by its digest              |
//!
//! Built-in names come first, so that they mean the same model on every node.

mod model_directory;
mod oci;
mod settings;

use std::ops::Deref;

use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, FailureReason};
use vmafx_scoring::engine::models::{self as engine, ModelError};

use crate::fetch::Fetcher;
use crate::scratch::ScratchError;
use crate::task::ModelSource;

use model_directory::ModelDirectory;
use oci::{CachedModel, OciModels};
pub use settings::ModelSettings;
use vmafx_oci::TransportError;
pub use vmafx_oci::{ReferenceError, RegistryCredentials};

/// A model on this machine. Its file is not removed as long as this value lives.
#[derive(Debug)]
pub struct ResolvedModel {
    source: ModelSource,
    _cached: Option<CachedModel>,
}

impl Deref for ResolvedModel {
    type Target = ModelSource;

    fn deref(&self) -> &ModelSource {
        &self.source
    }
}

impl From<ModelSource> for ResolvedModel {
    fn from(source: ModelSource) -> Self {
        Self { source, _cached: None }
    }
}

/// Why models cannot be found on this machine.
#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    #[error(transparent)]
    Cache(#[from] ScratchError),
    #[error("cannot create the client for registries")]
    Client(#[from] TransportError),
}

#[derive(Debug)]
pub struct Models {
    default: Option<String>,
    directory: Option<ModelDirectory>,
    oci: OciModels,
}

impl Models {
    /// Artifacts are cached in the scratch directory of `fetcher`, where all processes share them.
    pub fn new(
        settings: &ModelSettings,
        credentials: RegistryCredentials,
        fetcher: &Fetcher,
    ) -> Result<Self, ModelsError> {
        Ok(Self {
            default: settings.default_model.clone().filter(|name| !name.is_empty()),
            directory: settings.model_dir.as_deref().map(ModelDirectory::new),
            oci: OciModels::new(settings, credentials, fetcher)?,
        })
    }

    pub async fn find(&self, name: &str, cancel: &CancellationToken) -> Result<ResolvedModel, Failure> {
        let name = if name.is_empty() { self.default.as_deref().unwrap_or("auto") } else { name };
        if name == "auto" {
            return Ok(ModelSource::Auto.into());
        }
        if name.starts_with("oci://") {
            return tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Failure::new(FailureReason::Internal, "fetching the model was cancelled")),
                resolved = self.oci.find(name) => resolved,
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

fn unknown(name: &str, note: &str) -> Failure {
    let shown: String = name.chars().take(100).collect();
    let nearest = match engine::Model::named(&shown) {
        Err(ModelError::Unknown { nearest, .. }) => nearest,
        _ => Vec::new(),
    };
    let hint =
        if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(" or ")) };
    Failure::new(FailureReason::ModelMissingOnNode, format!("there is no model {shown:?} {note}{hint}"))
}
