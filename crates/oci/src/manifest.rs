//! What an artifact is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::checkpoint::MODEL;
use crate::digest::Digest;

/// Media type of the manifests that are written here.
pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Longest model.
pub const MODEL_LIMIT: u64 = 64 << 20;

/// Why a manifest cannot be used, or names no model.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// No JSON, or not that of a manifest.
    #[error("its manifest cannot be read")]
    Json(#[source] serde_json::Error),
    /// Several artifacts under one name.
    #[error("it is an index of several artifacts, not one model")]
    Index,
    /// Nothing in it is a model.
    #[error("it has {0} layers and none of them is a model ({MODEL})")]
    NoModel(usize),
    /// What is called a model is none by its size.
    #[error("its layer has {0} bytes, which is more than a model may have")]
    TooLarge(u64),
    /// A layer by another digest than SHA-256.
    #[error("its layer is named by something else than SHA-256")]
    Digest,
}

/// A blob, as a manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What it is.
    pub media_type: String,
    /// What is in it.
    pub digest: Digest,
    /// How long it is.
    pub size: u64,
    /// More about it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// An artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// What kind of manifest it says it is.
    pub media_type: Option<String>,
    /// What kind of artifact.
    pub artifact_type: Option<String>,
    /// What it is made of.
    pub layers: Vec<Descriptor>,
    /// What it says of itself.
    pub annotations: BTreeMap<String, String>,
}

/// As it is written; what is not there is nothing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    media_type: Option<String>,
    artifact_type: Option<String>,
    layers: Option<Vec<Blob>>,
    manifests: Option<serde::de::IgnoredAny>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Blob {
    media_type: String,
    digest: String,
    size: u64,
    annotations: Option<BTreeMap<String, String>>,
}

impl Manifest {
    /// Reads one.
    pub fn parse(json: &[u8]) -> Result<Self, ManifestError> {
        let document: Document = serde_json::from_slice(json).map_err(ManifestError::Json)?;
        if document.manifests.is_some() {
            return Err(ManifestError::Index);
        }
        let layers = document.layers.unwrap_or_default().into_iter().map(|blob| {
            Ok(Descriptor {
                media_type: blob.media_type,
                digest: blob.digest.parse().map_err(|_| ManifestError::Digest)?,
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

    /// The first layer of this kind.
    pub fn layer(&self, media_type: &str) -> Option<&Descriptor> {
        self.layers.iter().find(|layer| layer.media_type == media_type)
    }

    /// The layer that is the model: the one of our kind, or else the only one if it is JSON, since other tools push
    /// models too.
    pub fn model(&self) -> Result<&Descriptor, ManifestError> {
        let only = || match self.layers.as_slice() {
            [layer] if is_json(&layer.media_type) => Some(layer),
            _ => None,
        };
        let layer = self.layer(MODEL).or_else(only).ok_or(ManifestError::NoModel(self.layers.len()))?;
        if layer.size > MODEL_LIMIT { Err(ManifestError::TooLarge(layer.size)) } else { Ok(layer) }
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

    fn found(layers: &[serde_json::Value]) -> Result<char, ManifestError> {
        let manifest = json!({"schemaVersion": 2, "layers": layers}).to_string();
        let manifest = Manifest::parse(manifest.as_bytes())?;
        manifest.model().map(|layer| layer.digest.hex().chars().next().unwrap())
    }

    #[test]
    fn the_layer_of_our_kind_is_the_model() {
        assert_eq!(found(&[layer("text/plain", 'a', 1), layer(MODEL, 'b', 1)]).unwrap(), 'b');
    }

    #[test]
    fn so_is_the_only_layer_if_it_is_json() {
        assert_eq!(found(&[layer("application/json", 'a', 1)]).unwrap(), 'a');
        assert_eq!(found(&[layer("application/vnd.other+json; v=1", 'a', 1)]).unwrap(), 'a');
        assert!(matches!(found(&[layer("text/plain", 'a', 1)]), Err(ManifestError::NoModel(1))));
        let two = [layer("application/json", 'a', 1), layer("application/json", 'b', 1)];
        assert!(matches!(found(&two), Err(ManifestError::NoModel(2))));
        assert!(matches!(found(&[]), Err(ManifestError::NoModel(0))));
    }

    #[test]
    fn what_is_no_model_is_told_apart() {
        assert!(matches!(found(&[layer(MODEL, 'a', MODEL_LIMIT + 1)]), Err(ManifestError::TooLarge(_))));
        assert!(matches!(found(&[layer(MODEL, 'x', 1)]), Err(ManifestError::Digest)));
        assert!(matches!(Manifest::parse(br#"{"manifests": []}"#), Err(ManifestError::Index)));
        assert!(matches!(Manifest::parse(b"<html>"), Err(ManifestError::Json(_))));
    }

    #[test]
    fn null_is_nothing() {
        let manifest = Manifest::parse(br#"{"layers": null, "annotations": null, "config": null}"#).unwrap();
        assert_eq!((manifest.layers.len(), manifest.annotations.len()), (0, 0));
    }
}
