//! Which layer is the model.

use serde::Deserialize;

use super::MODEL;
use super::reference::Digest;

/// What the layer of a model is called.
const MEDIA_TYPE: &str = "application/vnd.vmafx.model.v1+json";

/// Why a manifest names no model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error("its manifest cannot be read")]
    Json(#[source] serde_json::Error),
    #[error("it is an index of several artifacts, not one model")]
    Index,
    #[error("it has {0} layers and none of them is a model ({MEDIA_TYPE})")]
    NoModel(usize),
    #[error("its layer has {0} bytes, which is more than a model may have")]
    TooLarge(u64),
    #[error("its layer is named by something else than SHA-256")]
    Digest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    layers: Option<Vec<Descriptor>>,
    manifests: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

/// The layer that is the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) digest: Digest,
    pub(super) size: u64,
}

/// The layer with our media type, or else the only one if it is JSON: other tools push models too.
pub(super) fn model_layer(manifest: &[u8]) -> Result<Layer, ManifestError> {
    let manifest: Manifest = serde_json::from_slice(manifest).map_err(ManifestError::Json)?;
    if manifest.manifests.is_some() {
        return Err(ManifestError::Index);
    }
    let layers = manifest.layers.unwrap_or_default();
    let ours = layers.iter().find(|layer| layer.media_type == MEDIA_TYPE);
    let only = || match layers.as_slice() {
        [layer] if is_json(&layer.media_type) => Some(layer),
        _ => None,
    };
    let layer = ours.or_else(only).ok_or(ManifestError::NoModel(layers.len()))?;
    if layer.size > MODEL {
        return Err(ManifestError::TooLarge(layer.size));
    }
    let digest = layer.digest.parse().map_err(|()| ManifestError::Digest)?;
    Ok(Layer { digest, size: layer.size })
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
        model_layer(manifest.as_bytes()).map(|layer| layer.digest.hex().chars().next().unwrap())
    }

    #[test]
    fn the_layer_of_our_kind_is_the_model() {
        assert_eq!(found(&[layer("text/plain", 'a', 1), layer(MEDIA_TYPE, 'b', 1)]).unwrap(), 'b');
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
        assert!(matches!(found(&[layer(MEDIA_TYPE, 'a', MODEL + 1)]), Err(ManifestError::TooLarge(_))));
        assert!(matches!(found(&[layer(MEDIA_TYPE, 'x', 1)]), Err(ManifestError::Digest)));
        assert!(matches!(model_layer(br#"{"manifests": []}"#), Err(ManifestError::Index)));
        assert!(matches!(model_layer(b"<html>"), Err(ManifestError::Json(_))));
    }
}
