//! Clips that Pods can read, and the same files here, to compare with `vmafx score`.

mod made;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::score;
use crate::volume::Volume;

/// How often the clip that takes its time repeats the other.
const LONG: usize = 60;

/// A directory of raw clips of 160×90, yuv420p.
#[derive(Debug)]
pub struct Clips {
    pub(crate) volume: Volume,
    vmafx: PathBuf,
}

impl Clips {
    /// Where Pods have them.
    pub const ROOT: &str = "/media";
    /// The claim by which they have them, in every namespace of the platform.
    pub const CLAIM: &str = "clips";
    /// A pair that scores in moments: reference and distorted.
    pub const GOLDEN: [&str; 2] = ["ref_160x90.yuv", "dis_160x90.yuv"];
    /// A clip that takes its time.
    pub const LONG: &str = "long.yuv";
    /// Pairs of which each is another one; see [`Clips::pair`].
    pub const PAIRS: usize = 200;

    pub(crate) fn write(volume: Volume, vmafx: PathBuf) -> Result<Self> {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data");
        let volume = volume.make()?;
        let put = |name: &str, content: &[u8]| {
            let path = volume.here.join(name);
            fs::write(&path, content).with_context(|| format!("{} cannot be written", path.display()))
        };
        for name in Self::GOLDEN {
            put(name, &fs::read(data.join(name)).with_context(|| format!("the clip {name}"))?)?;
        }
        let golden = fs::read(data.join(Self::GOLDEN[0]))?;
        put(Self::LONG, &golden.repeat(LONG))?;
        let references: Vec<_> = (0..made::REFERENCES).map(|one| made::reference(&golden, one)).collect();
        for number in 0..Self::PAIRS {
            let [reference, distorted] = Self::pair(number);
            let original = &references[number % made::REFERENCES];
            put(&reference, original)?;
            put(&distorted, &made::distorted(original, number / made::REFERENCES))?;
        }
        Ok(Self { volume, vmafx })
    }

    /// The names of a pair, for numbers below [`Clips::PAIRS`].
    pub fn pair(number: usize) -> [String; 2] {
        [format!("ref-{}.yuv", number % made::REFERENCES), format!("dis-{number}.yuv")]
    }

    /// What a job calls a clip.
    pub fn uri(name: &str) -> String {
        format!("file://{}/{name}", Self::ROOT)
    }

    /// A clip on this machine.
    pub fn here(&self, name: &str) -> PathBuf {
        self.volume.here.join(name)
    }

    /// What `vmafx score` says of two clips.
    pub async fn score(&self, [reference, distorted]: [&str; 2]) -> Result<f64> {
        score::directly(&self.vmafx, &self.here(reference), &self.here(distorted)).await
    }

    /// The `podTemplate` by which workers, or Pods of jobs, have them.
    pub fn pod_template() -> Value {
        json!({ "spec": {
            "volumes": [{ "name": "clips", "persistentVolumeClaim": { "claimName": Self::CLAIM, "readOnly": true } }],
            "containers": [{ "name": "agent", "volumeMounts": [
                { "name": "clips", "mountPath": Self::ROOT, "readOnly": true },
            ]}],
        }})
    }

    /// What a job's `spec` says of two clips.
    pub fn job([reference, distorted]: [&str; 2]) -> Value {
        json!({
            "reference": Self::uri(reference), "distorted": Self::uri(distorted),
            "input": { "width": 160, "height": 90, "pixelFormat": "yuv420p" }, "model": "vmaf_v0.6.1",
        })
    }
}
