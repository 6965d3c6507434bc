//! Trained models in a registry.
//!
//! A checkpoint is an artifact of two layers: the model, as libvmaf reads it, and the trainer's state, from which
//! training resumes. Everything else about it is in annotations of the manifest ([`CheckpointMetadata`]), so that
//! listing versions downloads no layer. A version keeps its tag for ever; the tag `<name>-stable` moves to the newest
//! version that passed the gate.

mod annotations;
mod metadata;

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::artifact::{Artifact, ArtifactLayer};

pub use annotations::CheckpointMetadataError;
pub use metadata::{CheckpointMetadata, ModelComparison, PredictionMetrics};

pub const ARTIFACT_TYPE: &str = "application/vnd.vmafx.model.v1";
/// Media type of the layer with the model, libvmaf's JSON.
pub const MODEL_MEDIA_TYPE: &str = "application/vnd.vmafx.model.v1+json";
/// Media type of the layer with the trainer's state.
pub const STATE_MEDIA_TYPE: &str = "application/vnd.vmafx.trainer-state.v1";

/// The artifact of a checkpoint. The same metadata and contents give the same artifact, bit for bit.
pub fn artifact(metadata: &CheckpointMetadata, model: Bytes, state: Bytes) -> Artifact {
    let layer = |media_type: &str, title: String, content| ArtifactLayer {
        media_type: media_type.to_owned(),
        title,
        content,
    };
    Artifact {
        artifact_type: ARTIFACT_TYPE.to_owned(),
        annotations: metadata.annotations(),
        layers: vec![
            layer(MODEL_MEDIA_TYPE, format!("{}.json", metadata.version()), model),
            layer(STATE_MEDIA_TYPE, format!("{}.state", metadata.version()), state),
        ],
    }
}

/// `<name>-v000007`.
pub fn version_tag(name: &str, number: u64) -> String {
    format!("{name}-v{number:06}")
}

/// The tag of the newest version that passed the gate.
pub fn stable_tag(name: &str) -> String {
    format!("{name}-stable")
}

/// The version number in a tag of the training `name`; `None` for any other tag.
pub fn version_number(name: &str, tag: &str) -> Option<u64> {
    let digits = tag.strip_prefix(name)?.strip_prefix("-v")?;
    let number = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    // Each number has exactly one tag: `-v7` and `-v0000007` are not versions.
    (version_tag(name, number) == tag).then_some(number)
}

/// The trainings among these tags, each with its version numbers in ascending order.
pub fn trainings(tags: &[String]) -> BTreeMap<String, Vec<u64>> {
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for tag in tags {
        if let Some((name, _)) = tag.rsplit_once("-v")
            && let Some(number) = version_number(name, tag)
        {
            all.entry(name.to_owned()).or_default().push(number);
        }
    }
    for numbers in all.values_mut() {
        numbers.sort_unstable();
    }
    all
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, "sports-v000000")]
    #[case(7, "sports-v000007")]
    #[case(1_234_567, "sports-v1234567")]
    fn a_version_has_one_tag(#[case] number: u64, #[case] tag: &str) {
        assert_eq!(version_tag("sports", number), tag);
        assert_eq!(version_number("sports", tag), Some(number));
    }

    #[rstest]
    #[case("sports-stable")]
    #[case("sports-v7")]
    #[case("sports-v+00007")]
    #[case("sports-v0000007")]
    #[case("sports-v")]
    #[case("sports2-v000007")]
    #[case("sports-x-v000007")]
    #[case("sports-v99999999999999999999")]
    fn other_tags_are_no_versions_of_it(#[case] tag: &str) {
        assert_eq!(version_number("sports", tag), None);
    }

    #[test]
    fn a_repository_holds_several_trainings() {
        let tags = ["a-v000002", "a-stable", "a-v1-v000001", "a-v000001", "latest", "a-v000010"];
        let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
        let expected = BTreeMap::from([("a".into(), vec![1, 2, 10]), ("a-v1".into(), vec![1])]);
        assert_eq!(trainings(&tags), expected);
    }
}
