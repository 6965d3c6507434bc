use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub const INDEX_MEDIA_TYPE: &str = "application/vnd.oci.image.index.v1+json";
pub const MANIFEST_MEDIA_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
pub const CONFIG_MEDIA_TYPE: &str = "application/vnd.oci.image.config.v1+json";
/// The config of an artifact that is not an image.
pub const EMPTY_MEDIA_TYPE: &str = "application/vnd.oci.empty.v1+json";

/// containerd's annotation for the full name of an image.
const CONTAINERD_NAME: &str = "io.containerd.image.name";
/// OCI's annotation for the tag.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// A reference to a blob by its digest, `sha256:…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: String,
    pub digest: String,
    pub size: u64,
    /// Set for a document that is attached to an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    pub os: String,
    /// In Go's notation.
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

    #[must_use]
    pub fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Annotates the full name of an image, tag included.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.annotated(CONTAINERD_NAME, name).annotated(REF_NAME, tag(name))
    }

    /// Only media type, digest and size.
    #[must_use]
    pub fn without_annotations(&self) -> Self {
        Self::new(&self.media_type, self.digest.clone(), self.size)
    }
}

fn tag(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or_default()
}

/// This machine's processor in the notation of Go and OCI.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
