//! Artifacts to be pushed.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;

use crate::digest::Digest;
use crate::manifest::{Descriptor, OCI_MANIFEST};

/// The config blob of an artifact that has no configuration, as OCI defines it.
pub(crate) const EMPTY_CONFIG: &[u8] = b"{}";
const EMPTY_MEDIA_TYPE: &str = "application/vnd.oci.empty.v1+json";

/// Annotation for the file name of a layer.
pub const TITLE: &str = "org.opencontainers.image.title";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub artifact_type: String,
    pub annotations: BTreeMap<String, String>,
    pub layers: Vec<ArtifactLayer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactLayer {
    pub media_type: String,
    /// The name of the file that tools such as `oras` write.
    pub title: String,
    pub content: Bytes,
}

impl Artifact {
    /// The same artifact always gives the same bytes, hence the same digest.
    pub fn manifest(&self) -> Vec<u8> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            schema_version: u8,
            media_type: &'a str,
            artifact_type: &'a str,
            config: Descriptor,
            layers: Vec<Descriptor>,
            annotations: &'a BTreeMap<String, String>,
        }
        let document = Document {
            schema_version: 2,
            media_type: OCI_MANIFEST,
            artifact_type: &self.artifact_type,
            config: describe(EMPTY_MEDIA_TYPE, EMPTY_CONFIG, BTreeMap::new()),
            layers: self.layers.iter().map(ArtifactLayer::descriptor).collect(),
            annotations: &self.annotations,
        };
        // Strings and numbers only: serializing them cannot fail.
        serde_json::to_vec(&document).unwrap_or_default()
    }

    /// The blobs, which must be uploaded before the manifest.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = Bytes> {
        let empty = Bytes::from_static(EMPTY_CONFIG);
        self.layers.iter().map(|layer| layer.content.clone()).chain([empty])
    }
}

impl ArtifactLayer {
    pub fn descriptor(&self) -> Descriptor {
        let title = BTreeMap::from([(TITLE.to_owned(), self.title.clone())]);
        describe(&self.media_type, &self.content, title)
    }
}

fn describe(media_type: &str, content: &[u8], annotations: BTreeMap<String, String>) -> Descriptor {
    let (digest, size) = (Digest::of(content), content.len() as u64);
    Descriptor { media_type: media_type.to_owned(), digest, size, annotations }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    #[test]
    fn a_manifest_is_read_back_as_it_was_written() {
        let artifact = Artifact {
            artifact_type: "application/vnd.example".into(),
            annotations: BTreeMap::from([("a".into(), "1".into())]),
            layers: vec![ArtifactLayer {
                media_type: "text/plain".into(),
                title: "a.txt".into(),
                content: "hello".into(),
            }],
        };
        let manifest = Manifest::parse(&artifact.manifest()).unwrap();
        assert_eq!(manifest.artifact_type.as_deref(), Some("application/vnd.example"));
        assert_eq!(manifest.annotations, artifact.annotations);
        assert_eq!(manifest.layers, [artifact.layers[0].descriptor()]);
        assert_eq!(manifest.layers[0].annotations[TITLE], "a.txt");
        assert_eq!(artifact.manifest(), artifact.clone().manifest());
    }
}
