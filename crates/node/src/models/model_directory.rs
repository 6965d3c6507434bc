//! Model files in `VMAFX_MODEL_DIR`.

use std::path::{Path, PathBuf};

use vmafx_job::{Failure, FailureReason};

use crate::paths::ScoringRoots;
use crate::paths::local::{LocalError, LocalFile};

/// Subdirectories with the models of a family.
const FAMILIES: [&str; 2] = ["vmaf_v1.0.16", "vmaf_v1.0.16_hfr"];

#[derive(Clone, Debug)]
pub(super) struct ModelDirectory(PathBuf);

impl ModelDirectory {
    pub(super) fn new(path: &Path) -> Self {
        // A scoring root must be absolute.
        Self(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// The file of a model. Links are followed within the directory.
    pub(super) async fn find(&self, name: &str) -> Result<Option<PathBuf>, Failure> {
        let (directory, owned) = (self.clone(), name.to_owned());
        let found = tokio::task::spawn_blocking(move || directory.find_blocking(&owned)).await;
        match found {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => {
                let reason = match error {
                    LocalError::Io(_) | LocalError::Swapped => FailureReason::SourceUnreachable,
                    LocalError::Denied(_) => FailureReason::ModelMissingOnNode,
                    LocalError::Outside | LocalError::NotFound | LocalError::NotRegular(_) => {
                        FailureReason::ModelInvalid
                    }
                };
                Err(Failure::new(reason, format!("model {name:?} in VMAFX_MODEL_DIR: {error}")))
            }
            Err(_) => {
                Err(Failure::new(FailureReason::Internal, "the task that looks for the model panicked"))
            }
        }
    }

    fn find_blocking(&self, name: &str) -> Result<Option<PathBuf>, LocalError> {
        let Some(roots) = self.0.to_str().and_then(|root| ScoringRoots::parse(&[root.to_owned()]).ok())
        else {
            return Ok(None);
        };
        for candidate in self.candidates(name) {
            match LocalFile::open(&candidate, &roots) {
                Ok(file) => return Ok(Some(file.path().to_owned())),
                // The directory of a family may have the name of the model.
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
        let directories =
            std::iter::once(self.0.clone()).chain(FAMILIES.iter().map(|family| self.0.join(family)));
        directories
            .flat_map(|directory| [directory.join(format!("{name}.json")), directory.join(name)])
            .collect()
    }
}
