//! Model files in a directory of this machine.

use std::path::{Path, PathBuf};

use vmafx_job::{Failure, FailureReason};

use crate::paths::Roots;
use crate::paths::local::{LocalError, LocalFile};

/// Directories of families, in which their models lie.
const FAMILIES: [&str; 2] = ["vmaf_v1.0.16", "vmaf_v1.0.16_hfr"];

/// `VMAFX_MODEL_DIR`.
#[derive(Clone, Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn new(path: &Path) -> Self {
        // Absolute, because that is what a root is; one that does not exist holds nothing.
        Self(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// The file of a model, wherever links lead to inside the directory.
    pub(super) async fn find(&self, name: &str) -> Result<Option<PathBuf>, Failure> {
        let (directory, owned) = (self.clone(), name.to_owned());
        let found = tokio::task::spawn_blocking(move || directory.look(&owned)).await;
        match found {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => {
                let reason = if matches!(error, LocalError::Io(_) | LocalError::Swapped) {
                    FailureReason::SourceUnreachable
                } else {
                    FailureReason::ModelInvalid
                };
                Err(Failure::new(reason, format!("model {name:?} in VMAFX_MODEL_DIR: {error}")))
            }
            Err(_) => Err(Failure::new(FailureReason::Internal, "looking for the model went wrong")),
        }
    }

    fn look(&self, name: &str) -> Result<Option<PathBuf>, LocalError> {
        let Some(roots) = self.0.to_str().and_then(|root| Roots::parse(&[root.to_owned()]).ok()) else {
            return Ok(None);
        };
        for candidate in self.candidates(name) {
            match LocalFile::open(&candidate, &roots) {
                Ok(file) => return Ok(Some(file.path().to_owned())),
                // A family's directory may be called like the model that is looked for.
                Err(LocalError::NotFound | LocalError::Outside | LocalError::NotRegular("a directory")) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn candidates(&self, name: &str) -> Vec<PathBuf> {
        let path = Path::new(name);
        if name.is_empty() || path.components().any(|part| part == std::path::Component::ParentDir) {
            return Vec::new();
        }
        if path.is_absolute() {
            return vec![path.to_owned()];
        }
        let places = std::iter::once(self.0.clone()).chain(FAMILIES.iter().map(|family| self.0.join(family)));
        places.flat_map(|place| [place.join(format!("{name}.json")), place.join(name)]).collect()
    }
}
