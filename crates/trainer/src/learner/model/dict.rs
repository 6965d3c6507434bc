//! The parts of a model's JSON that the scoring engine leaves to libvmaf.

use serde::Deserialize;

use super::ChromaCorrection;
use super::output::{Knot, ScoreMapping, ScoreTransform};

/// A field that appears twice is an error, because libvmaf and other parsers would use different ones.
#[derive(Deserialize)]
struct ModelFile {
    model_dict: ModelDict,
}

#[derive(Deserialize)]
pub(super) struct ModelDict {
    pub(super) norm_type: String,
    pub(super) feature_names: Vec<String>,
    #[serde(default)]
    pub(super) slopes: Vec<f64>,
    #[serde(default)]
    pub(super) intercepts: Vec<f64>,
    pub(super) model: String,
    score_clip: Option<(f64, f64)>,
    score_transform: Option<TransformDict>,
    chroma_correction_parameter: Option<f64>,
}

#[derive(Deserialize)]
struct TransformDict {
    #[serde(default)]
    enabled: bool,
    p0: Option<f64>,
    p1: Option<f64>,
    p2: Option<f64>,
    #[serde(default)]
    knots: Vec<(f64, f64)>,
    #[serde(default)]
    out_lte_in: String,
    #[serde(default)]
    out_gte_in: String,
}

/// Parts of the names of the two features of a [`ChromaCorrection`].
const LUMA: &str = "adm3";
const CHROMA: &str = "speed_chroma";
/// libvmaf's own limit.
const MAX_KNOTS: usize = 10;

impl ModelDict {
    pub(super) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(serde_json::from_slice::<ModelFile>(json)?.model_dict)
    }

    pub(super) fn chroma(&self) -> Result<Option<ChromaCorrection>, String> {
        let Some(factor) = self.chroma_correction_parameter else { return Ok(None) };
        let index_of = |part: &str| {
            let mut found =
                (0..self.feature_names.len()).filter(|&index| self.feature_names[index].contains(part));
            match (found.next(), found.next()) {
                (Some(index), None) => Ok(index),
                _ => {
                    Err(format!("its chroma correction needs exactly one feature with {part:?} in its name"))
                }
            }
        };
        // libvmaf interprets zero as "no score".
        if factor == 0.0 {
            return Err("its chroma_correction_parameter is zero".to_owned());
        }
        Ok(Some(ChromaCorrection { luma: index_of(LUMA)?, chroma: index_of(CHROMA)?, factor }))
    }

    pub(super) fn output(&self) -> Result<ScoreMapping, String> {
        let (Some(&slope), Some(&intercept)) = (self.slopes.first(), self.intercepts.first()) else {
            return Err("it has no slope for the score".to_owned());
        };
        if slope <= 0.0 {
            return Err("its slope for the score must be above zero".to_owned());
        }
        if self.score_clip.is_some_and(|(min, max)| min >= max) {
            return Err("the minimum of its score_clip is not below the maximum".to_owned());
        }
        let transform = match &self.score_transform {
            Some(transform) if transform.enabled => Some(transform.parse()?),
            _ => None,
        };
        Ok(ScoreMapping { slope, intercept, transform, clip: self.score_clip })
    }
}

impl TransformDict {
    fn parse(&self) -> Result<ScoreTransform, String> {
        let knots: Vec<Knot> = self.knots.iter().map(|&(x, y)| Knot { x, y }).collect();
        let rises = knots.is_sorted_by(|a, b| a.x < b.x && a.y <= b.y);
        if !knots.is_empty() && (knots.len() < 2 || knots.len() > MAX_KNOTS || !rises) {
            return Err(format!("its score_transform must have 2 to {MAX_KNOTS} knots in rising order"));
        }
        let polynomial = match (self.p0, self.p1, self.p2) {
            (None, None, None) => [0.0, 1.0, 0.0],
            (p0, p1, p2) => [p0, p1, p2].map(Option::unwrap_or_default),
        };
        let (at_most_input, at_least_input) = (self.out_lte_in == "true", self.out_gte_in == "true");
        Ok(ScoreTransform { polynomial, knots, at_most_input, at_least_input })
    }
}

/// The short name of a feature: `adm2` for `VMAF_integer_feature_adm2_score`.
pub(super) fn stem(name: &str) -> &str {
    let name = name.split_once("_feature_").map_or(name, |(_, stem)| stem);
    name.strip_suffix("_score").unwrap_or(name)
}
