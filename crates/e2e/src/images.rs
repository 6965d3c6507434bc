//! The images of the daemons.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["vmafx-operator", "vmafx-controller", "vmafx-node", "vmafx-trainer"];

/// The images that `xtask images` wrote, and the programs in them.
#[derive(Debug, Clone)]
pub struct Images {
    /// Directory of the tar files.
    pub directory: PathBuf,
    /// Prefix of the images' names.
    pub repository: String,
    pub tag: String,
    /// Directory of the programs that were built together with the images, such as `vmafx`.
    pub programs: PathBuf,
}

/// The chart and the images of an earlier release.
#[derive(Debug, Clone)]
pub struct OlderRelease {
    pub chart: PathBuf,
    pub images: Images,
}

impl Images {
    pub(crate) fn archives(&self) -> Result<Vec<PathBuf>> {
        let archives = NAMES.map(|name| self.directory.join(format!("{name}.tar")));
        for archive in &archives {
            ensure!(archive.is_file(), "{} does not exist; run `make images PROFILE=dev`", archive.display());
        }
        Ok(archives.to_vec())
    }

    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// The chart values that select these images.
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

    pub(crate) fn chart() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/helm/vmafx")
    }
}
