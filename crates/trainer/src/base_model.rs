//! The base model, from which a run starts.
//!
//! | written as                                         | is                             |
//! |----------------------------------------------------|--------------------------------|
//! | `vmaf_v0.6.1` and other built-in names             | built in                       |
//! | `oci://registry/repository:tag`, `@sha256:…`       | the model layer of an artifact |
//! | a path, or the name of a file in `VMAFX_MODEL_DIR` | a file                         |
//!
//! Built-in names take precedence, as everywhere. A run that resumes from a checkpoint does not load the base model.

use std::io;
use std::path::{Path, PathBuf};

use vmafx_oci::manifest::MAX_MODEL_BYTES;
use vmafx_oci::{ArtifactReference, OciError, ReferenceError, RegistryClient};
use vmafx_scoring::engine::models::{self as engine, Model};

use crate::learner::ModelError;

#[derive(Debug, thiserror::Error)]
pub enum BaseModelError {
    #[error(transparent)]
    Unknown(#[from] engine::ModelError),
    #[error("cannot read the base model {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    ArtifactReference(#[from] ReferenceError),
    #[error("cannot pull the base model {model}")]
    Registry {
        model: String,
        #[source]
        source: OciError,
    },
    /// The model cannot be trained.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl BaseModelError {
    /// Whether a later attempt may succeed without anybody's intervention.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Registry { source, .. } if source.is_transient())
    }
}

/// Loads the base model's JSON.
pub async fn load(
    name: &str,
    directory: Option<&Path>,
    client: &RegistryClient,
) -> Result<Vec<u8>, BaseModelError> {
    if name.starts_with("oci://") {
        return pull(name, client).await;
    }
    if engine::built_in().any(|model| model.name == name) {
        return Ok(Model::named(name)?.json().to_vec());
    }
    for path in candidates(name, directory) {
        match tokio::fs::read(&path).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(BaseModelError::Read { path, source }),
            Ok(json) => return Ok(json),
        }
    }
    if is_path(name) {
        let source = io::ErrorKind::NotFound.into();
        return Err(BaseModelError::Read { path: name.into(), source });
    }
    // Fails with an error that suggests similar built-in names.
    Ok(Model::named(name)?.json().to_vec())
}

fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "json")
}

/// Paths at which the file may be. A name with `..` is not searched in the directory, which it could leave.
fn candidates(name: &str, directory: Option<&Path>) -> Vec<PathBuf> {
    let own = is_path(name).then(|| PathBuf::from(name));
    let directory = directory.filter(|_| !name.contains(".."));
    let below = directory.into_iter().flat_map(|path| [path.join(format!("{name}.json")), path.join(name)]);
    own.into_iter().chain(below).collect()
}

async fn pull(name: &str, client: &RegistryClient) -> Result<Vec<u8>, BaseModelError> {
    let reference = ArtifactReference::parse(name)?;
    let failed = |source| BaseModelError::Registry { model: name.to_owned(), source };
    let (_, manifest) = client.resolve(&reference).await.map_err(failed)?;
    let layer = manifest.model().map_err(|error| failed(error.into()))?;
    let json = client.blob(&reference.repository, layer, MAX_MODEL_BYTES).await.map_err(failed)?;
    Ok(json.to_vec())
}
