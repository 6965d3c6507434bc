//! Clips on a volume that Pods mount, and on this machine for comparison with `vmafx score`.

mod synthetic;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::score;
use crate::volume::Volume;

/// How often [`Clips::LONG`] repeats the golden reference.
const LONG_REPEATS: usize = 60;

/// A directory of raw clips of 160×90, yuv420p.
#[derive(Debug)]
pub struct Clips {
    pub(crate) volume: Volume,
    vmafx: PathBuf,
}

impl Clips {
    /// Mount path in Pods.
    pub const ROOT: &str = "/media";
    /// Name of the claim, in every namespace of the platform.
    pub const CLAIM: &str = "clips";
    /// A short pair: reference and distorted.
    pub const GOLDEN: [&str; 2] = ["ref_160x90.yuv", "dis_160x90.yuv"];
    /// A clip that takes long to score.
    pub const LONG: &str = "long.yuv";
    /// Number of different pairs; see [`Clips::pair`].
    pub const PAIRS: usize = 200;

    pub(crate) fn write(volume: Volume, vmafx: PathBuf) -> Result<Self> {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data");
        let volume = volume.create()?;
        let write = |name: &str, content: &[u8]| {
            let path = volume.host_path.join(name);
            fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
        };
        for name in Self::GOLDEN {
            write(name, &fs::read(data.join(name)).with_context(|| format!("cannot read the clip {name}"))?)?;
        }
        let golden = fs::read(data.join(Self::GOLDEN[0]))?;
        write(Self::LONG, &golden.repeat(LONG_REPEATS))?;
        let references: Vec<_> =
            (0..synthetic::REFERENCES).map(|one| synthetic::reference(&golden, one)).collect();
        for number in 0..Self::PAIRS {
            let [reference, distorted] = Self::pair(number);
            let original = &references[number % synthetic::REFERENCES];
            write(&reference, original)?;
            write(&distorted, &synthetic::distorted(original, number / synthetic::REFERENCES))?;
        }
        Ok(Self { volume, vmafx })
    }

    /// The names of a pair, for numbers below [`Clips::PAIRS`].
    pub fn pair(number: usize) -> [String; 2] {
        [format!("ref-{}.yuv", number % synthetic::REFERENCES), format!("dis-{number}.yuv")]
    }

    pub fn uri(name: &str) -> String {
        format!("file://{}/{name}", Self::ROOT)
    }

    pub fn host_path(&self, name: &str) -> PathBuf {
        self.volume.host_path.join(name)
    }

    /// The score that `vmafx score` gives two clips.
    pub async fn score(&self, [reference, distorted]: [&str; 2]) -> Result<f64> {
        score::vmafx_score(&self.vmafx, &self.host_path(reference), &self.host_path(distorted)).await
    }

    /// The `podTemplate` that mounts the clips in workers or in Pods of jobs.
    pub fn pod_template() -> Value {
        json!({ "spec": {
            "volumes": [{ "name": "clips", "persistentVolumeClaim": { "claimName": Self::CLAIM, "readOnly": true } }],
            "containers": [{ "name": "agent", "volumeMounts": [
                { "name": "clips", "mountPath": Self::ROOT, "readOnly": true },
            ]}],
        }})
    }

    /// The `spec` of a job for two clips.
    pub fn job([reference, distorted]: [&str; 2]) -> Value {
        json!({
            "reference": Self::uri(reference), "distorted": Self::uri(distorted),
            "input": { "width": 160, "height": 90, "pixelFormat": "yuv420p" }, "model": "vmaf_v0.6.1",
        })
    }
}
