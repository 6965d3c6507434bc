//! Manifests: what an artifact consists of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::checkpoint::MODEL_MEDIA_TYPE;
use crate::digest::Digest;

/// Media type of the manifests that are written here.
pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

pub const MAX_MODEL_BYTES: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("cannot parse its manifest")]
    Json(#[source] serde_json::Error),
    #[error("it is an index of several artifacts, not one model")]
    Index,
    #[error("it has {0} layers, none of which is a model ({MODEL_MEDIA_TYPE})")]
    NoModel(usize),
    #[error("its layer has {0} bytes; a model has at most {MAX_MODEL_BYTES}")]
    ModelTooLarge(u64),
    #[error("the digest of its layer is not SHA-256")]
    NotSha256,
}

/// A reference to a blob in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub media_type: Option<String>,
    pub artifact_type: Option<String>,
    pub layers: Vec<Descriptor>,
    pub annotations: BTreeMap<String, String>,
}

/// Every field is optional, also as `null`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestDocument {
    media_type: Option<String>,
    artifact_type: Option<String>,
    layers: Option<Vec<BlobDocument>>,
    manifests: Option<serde::de::IgnoredAny>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlobDocument {
    media_type: String,
    digest: String,
    size: u64,
    annotations: Option<BTreeMap<String, String>>,
}

impl Manifest {
    pub fn parse(json: &[u8]) -> Result<Self, ManifestError> {
        let document: ManifestDocument = serde_json::from_slice(json).map_err(ManifestError::Json)?;
        if document.manifests.is_some() {
            return Err(ManifestError::Index);
        }
        let layers = document.layers.unwrap_or_default().into_iter().map(|blob| {
            Ok(Descriptor {
                media_type: blob.media_type,
                digest: blob.digest.parse().map_err(|_| ManifestError::NotSha256)?,
                size: blob.size,
                annotations: blob.annotations.unwrap_or_default(),
            })
        });
        Ok(Self {
            media_type: document.media_type,
            artifact_type: document.artifact_type,
            layers: layers.collect::<Result<_, _>>()?,
            annotations: document.annotations.unwrap_or_default(),
        })
    }

    /// The first layer with this media type.
    pub fn layer(&self, media_type: &str) -> Option<&Descriptor> {
        self.layers.iter().find(|layer| layer.media_type == media_type)
    }

    /// The layer with the model: the one with our media type, or else the only layer if it is JSON, since other tools
    /// push models too.
    pub fn model(&self) -> Result<&Descriptor, ManifestError> {
        let only = || match self.layers.as_slice() {
            [layer] if is_json(&layer.media_type) => Some(layer),
            _ => None,
        };
        let layer =
            self.layer(MODEL_MEDIA_TYPE).or_else(only).ok_or(ManifestError::NoModel(self.layers.len()))?;
        if layer.size > MAX_MODEL_BYTES { Err(ManifestError::ModelTooLarge(layer.size)) } else { Ok(layer) }
    }
}

fn is_json(media_type: &str) -> bool {
    let kind = media_type.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || kind == "text/json" || kind.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn layer(media_type: &str, digit: char, size: u64) -> serde_json::Value {
        json!({"mediaType": media_type, "digest": format!("sha256:{}", digit.to_string().repeat(64)), "size": size})
    }

    fn model_digest(layers: &[serde_json::Value]) -> Result<char, ManifestError> {
        let manifest = json!({"schemaVersion": 2, "layers": layers}).to_string();
        let manifest = Manifest::parse(manifest.as_bytes())?;
        manifest.model().map(|layer| layer.digest.hex().chars().next().unwrap())
    }

    #[test]
    fn the_layer_with_our_media_type_is_the_model() {
        assert_eq!(
            model_digest(&[layer("text/plain", 'a', 1), layer(MODEL_MEDIA_TYPE, 'b', 1)]).unwrap(),
            'b'
        );
    }

    #[test]
    fn the_only_layer_is_the_model_if_it_is_json() {
        assert_eq!(model_digest(&[layer("application/json", 'a', 1)]).unwrap(), 'a');
        assert_eq!(model_digest(&[layer("application/vnd.other+json; v=1", 'a', 1)]).unwrap(), 'a');
        assert!(matches!(model_digest(&[layer("text/plain", 'a', 1)]), Err(ManifestError::NoModel(1))));
        let two = [layer("application/json", 'a', 1), layer("application/json", 'b', 1)];
        assert!(matches!(model_digest(&two), Err(ManifestError::NoModel(2))));
        assert!(matches!(model_digest(&[]), Err(ManifestError::NoModel(0))));
    }

    #[test]
    fn unusable_manifests_are_distinguished() {
        assert!(matches!(
            model_digest(&[layer(MODEL_MEDIA_TYPE, 'a', MAX_MODEL_BYTES + 1)]),
            Err(ManifestError::ModelTooLarge(_))
        ));
        assert!(matches!(model_digest(&[layer(MODEL_MEDIA_TYPE, 'x', 1)]), Err(ManifestError::NotSha256)));
        assert!(matches!(Manifest::parse(br#"{"manifests": []}"#), Err(ManifestError::Index)));
        assert!(matches!(Manifest::parse(b"<html>"), Err(ManifestError::Json(_))));
    }

    #[test]
    fn null_counts_as_missing() {
        let manifest = Manifest::parse(br#"{"layers": null, "annotations": null, "config": null}"#).unwrap();
        assert_eq!((manifest.layers.len(), manifest.annotations.len()), (0, 0));
    }
}
