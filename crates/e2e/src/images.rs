//! What runs in the Pods.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["vmafx-operator", "vmafx-controller", "vmafx-node", "vmafx-trainer"];

/// Images of the daemons as `xtask images` writes them, and the programs that they were made of.
#[derive(Debug, Clone)]
pub struct Images {
    /// Where the tar files are.
    pub directory: PathBuf,
    /// What comes before the names of images.
    pub repository: String,
    /// The tag of all images.
    pub tag: String,
    /// Where the programs are that were built beside them, such as `vmafx`.
    pub programs: PathBuf,
}

impl Images {
    /// The tar files; an error that says how to make one that is missing.
    pub(crate) fn archives(&self) -> Result<Vec<PathBuf>> {
        let archives = NAMES.map(|name| self.directory.join(format!("{name}.tar")));
        for archive in &archives {
            ensure!(archive.is_file(), "{} is not there: make images PROFILE=dev", archive.display());
        }
        Ok(archives.to_vec())
    }

    /// A program that was built beside them.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// The values by which a release runs them.
    pub(crate) fn values(&self) -> Value {
        let image =
            |name: &str| json!({ "repository": format!("{}/{name}", self.repository), "tag": self.tag });
        json!({
            "operator": {
                "image": image("vmafx-operator"),
                "nodeImage": image("vmafx-node"),
                "trainerImage": image("vmafx-trainer"),
            },
            "controller": { "image": image("vmafx-controller") },
        })
    }

    /// Where the chart of this checkout is.
    pub(crate) fn chart() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/helm/vmafx")
    }
}
