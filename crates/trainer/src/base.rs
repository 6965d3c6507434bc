//! The base model: what a run begins with.
//!
//! | given as                                   | is                                                              |
//! |--------------------------------------------|-----------------------------------------------------------------|
//! | `vmaf_v0.6.1` and its kin                  | built in                                                        |
//! | `oci://registry/repository:tag`, `@sha256:…` | the model layer of an artifact                                |
//! | a path, or the name of a file in `VMAFX_MODEL_DIR` | a file                                                  |
//!
//! Built-in names come first, as everywhere. A run looks for it only if there is no checkpoint to go on from.

use std::io;
use std::path::{Path, PathBuf};

use vmafx_oci::manifest::MAX_MODEL_BYTES;
use vmafx_oci::{ArtifactReference, OciError, ReferenceError, RegistryClient};
use vmafx_scoring::engine::models::{self as engine, Model};

use crate::learner::ModelError;

/// Why there is no base model.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// Nothing has this name.
    #[error(transparent)]
    Unknown(#[from] engine::ModelError),
    /// A file that cannot be read.
    #[error("cannot read the base model {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// No name of an artifact.
    #[error(transparent)]
    ArtifactReference(#[from] ReferenceError),
    /// A registry does not give it.
    #[error("cannot get the base model {model}")]
    Registry {
        /// The model.
        model: String,
        /// Why not.
        #[source]
        source: OciError,
    },
    /// It cannot be learned from.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl BaseError {
    /// Whether it may be there later without anybody doing anything.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Registry { source, .. } if source.is_transient())
    }
}

/// Reads the base model's JSON.
pub async fn read(
    name: &str,
    directory: Option<&Path>,
    client: &RegistryClient,
) -> Result<Vec<u8>, BaseError> {
    if name.starts_with("oci://") {
        return pull(name, client).await;
    }
    if engine::built_in().any(|model| model.name == name) {
        return Ok(Model::named(name)?.json().to_vec());
    }
    for path in candidates(name, directory) {
        match tokio::fs::read(&path).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(BaseError::Read { path, source }),
            Ok(json) => return Ok(json),
        }
    }
    if is_path(name) {
        let source = io::ErrorKind::NotFound.into();
        return Err(BaseError::Read { path: name.into(), source });
    }
    // Says which built-in name may have been meant.
    Ok(Model::named(name)?.json().to_vec())
}

fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "json")
}

/// Where a file may lie. A name stays within its directory.
fn candidates(name: &str, directory: Option<&Path>) -> Vec<PathBuf> {
    let own = is_path(name).then(|| PathBuf::from(name));
    let below = directory.filter(|_| !name.contains(".."));
    let below = below.into_iter().flat_map(|place| [place.join(format!("{name}.json")), place.join(name)]);
    own.into_iter().chain(below).collect()
}

async fn pull(name: &str, client: &RegistryClient) -> Result<Vec<u8>, BaseError> {
    let reference = ArtifactReference::parse(name)?;
    let failed = |source| BaseError::Registry { model: name.to_owned(), source };
    let (_, manifest) = client.resolve(&reference).await.map_err(failed)?;
    let layer = manifest.model().map_err(|error| failed(error.into()))?;
    let json = client.blob(&reference.repository, layer, MAX_MODEL_BYTES).await.map_err(failed)?;
    Ok(json.to_vec())
}
