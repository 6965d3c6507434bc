//! How one document names another.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A list of manifests.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// A manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The configuration of an image.
pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// The configuration of what is no image.
pub const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// The key by which containerd knows the full name of an image.
const NAME: &str = "io.containerd.image.name";
/// The key by which other tools know its tag.
const TAG: &str = "org.opencontainers.image.ref.name";

/// A blob by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What it is.
    pub media_type: String,
    /// `sha256:…`.
    pub digest: String,
    /// Its length in bytes.
    pub size: u64,
    /// What it is attached as, if it is no image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// What it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// What an image runs on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// `linux`.
    pub os: String,
    /// The processor, as Go calls it.
    pub architecture: String,
}

impl Descriptor {
    pub(crate) fn new(media_type: &str, digest: String, size: u64) -> Self {
        let (artifact_type, platform, annotations) = (None, None, BTreeMap::new());
        Self { media_type: media_type.to_owned(), digest, size, artifact_type, platform, annotations }
    }

    pub(crate) fn for_this_machine(mut self) -> Self {
        self.platform = Some(Platform { os: "linux".to_owned(), architecture: architecture().to_owned() });
        self
    }

    /// With one more thing said of it.
    #[must_use]
    pub fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// With the full name of an image, tag included.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.annotated(NAME, name).annotated(TAG, tag(name))
    }

    /// Only what identifies it.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self::new(&self.media_type, self.digest.clone(), self.size)
    }
}

fn tag(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or_default()
}

/// What Go and OCI call this machine's processor.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
