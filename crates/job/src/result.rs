//! The result of a job that was scored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Confinement, FrameSize};

/// A job that has a score. All numbers are finite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScoreResult {
    /// The pooled score: the mean over the scored frames. 0 is a real score.
    pub score: f64,
    /// Mean of each feature, by lower-case name.
    pub features: BTreeMap<String, f64>,
    /// A node that speaks only the frozen part of the contract reports none.
    #[serde(flatten)]
    pub details: Option<ScoreDetails>,
}

/// What a node reports beyond score and features.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScoreDetails {
    /// The model that was really used: the name after defaults, or the `oci://` reference.
    pub model: String,
    pub model_digest: String,
    pub backend: String,
    /// Who computed the features: `libvmaf`, or `native-` and the instruction set. Empty: the node did not record it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub engine: String,
    /// Frame pairs that were scored.
    pub frames: u64,
    /// The size at which the frames were compared.
    #[serde(with = "size_pair")]
    pub size: Option<FrameSize>,
    #[serde(alias = "pooled")]
    pub scores: Option<PooledScores>,
    /// What a careful reader of the score should know, one sentence each.
    pub warnings: Vec<String>,
    /// Where the per-frame report was written; empty: none was asked for.
    pub report_uri: String,
    /// What confined the process that scored; `None`: the node did not record it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
}

/// Stored as `[width, height]`.
mod size_pair {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use crate::FrameSize;

    #[expect(clippy::ref_option, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(size: &Option<FrameSize>, to: S) -> Result<S::Ok, S::Error> {
        size.map(|size| (size.width, size.height)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<FrameSize>, D::Error> {
        let pair = Option::<(u32, u32)>::deserialize(from)?;
        Ok(pair.map(|(width, height)| FrameSize { width, height }))
    }
}

/// The model behind a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelUsed {
    /// Name of the model, also where the spec said `auto` or nothing. That of a registry has the digest of its manifest
    /// behind it (oci://…:tag@sha256:…): put into a spec as it is, it means this very model.
    pub name: String,
    /// Digest of the model's content, its JSON (sha256:…), which tells two models of one name apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A score pooled over the frames in several ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
// All nine are always written; a statistic that is missing must not look like a score of 0.
#[cfg_attr(feature = "schema", schemars(transform = every_statistic_is_required))]
#[serde(rename_all = "camelCase", default)]
pub struct PooledScores {
    /// Arithmetic mean; the same as status.score.
    pub mean: f64,
    /// Harmonic mean, which weighs bad frames more.
    pub harmonic_mean: f64,
    /// The worst frame.
    pub min: f64,
    /// The best frame.
    pub max: f64,
    /// Standard deviation over the frames.
    pub stddev: f64,
    /// The score that 1 % of the frames stay below.
    pub p1: f64,
    /// The score that 5 % of the frames stay below.
    pub p5: f64,
    /// The score that 10 % of the frames stay below.
    pub p10: f64,
    /// The median frame.
    pub p50: f64,
}

#[cfg(feature = "schema")]
fn every_statistic_is_required(schema: &mut schemars::Schema) {
    let properties = schema.get_mut("properties").and_then(|properties| properties.as_object_mut());
    for property in properties.into_iter().flat_map(|properties| properties.values_mut()) {
        property.as_object_mut().map(|property| property.remove("default"));
    }
    let names = PooledScores::default().named().map(|(name, _)| name.replace("_mean", "Mean"));
    schema.insert("required".to_owned(), names.to_vec().into());
}

impl PooledScores {
    /// Every statistic with its name on the wire.
    pub const fn named(&self) -> [(&'static str, f64); 9] {
        [
            ("mean", self.mean),
            ("harmonic_mean", self.harmonic_mean),
            ("min", self.min),
            ("max", self.max),
            ("stddev", self.stddev),
            ("p1", self.p1),
            ("p5", self.p5),
            ("p10", self.p10),
            ("p50", self.p50),
        ]
    }
}

impl ScoreResult {
    /// The first number that is not finite, by name: JSON cannot represent it, and comparisons with NaN are always false.
    pub fn not_finite(&self) -> Option<(&str, f64)> {
        let mut numbers: Vec<(&str, f64)> = vec![("score", self.score)];
        if let Some(scores) = self.details.as_ref().and_then(|details| details.scores.as_ref()) {
            numbers.extend(scores.named());
        }
        numbers.extend(self.features.iter().map(|(name, value)| (name.as_str(), *value)));
        numbers.into_iter().find(|(_, value)| !value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn details_that_the_first_release_stored_are_read() {
        let stored = json!({
            "model": "m", "modelDigest": "sha256:ab", "backend": "cpu", "frames": 3, "size": [64, 32],
            "scores": {"mean": 80.5, "p50": 81.0}, "warnings": ["w"], "reportUri": "/r.json",
        });
        let details: ScoreDetails = serde_json::from_value(stored).unwrap();
        assert_eq!(details.size, Some(FrameSize { width: 64, height: 32 }));
        assert_eq!(details.scores.unwrap().p50.to_bits(), 81.0_f64.to_bits());
        let again = serde_json::to_value(&details).unwrap();
        assert_eq!(serde_json::from_value::<ScoreDetails>(again).unwrap(), details);
    }

    #[test]
    fn a_number_that_is_not_finite_is_named() {
        let mut result = ScoreResult { score: 80.5, ..ScoreResult::default() };
        assert_eq!(result.not_finite(), None);
        result.features.insert("psnr_y".to_owned(), f64::INFINITY);
        assert_eq!(result.not_finite(), Some(("psnr_y", f64::INFINITY)));
    }
}
