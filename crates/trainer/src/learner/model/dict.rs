//! The parts of a model's JSON that the engine leaves to libvmaf.

use serde::Deserialize;

use super::Follow;
use super::output::{Knot, Output, Transform};

/// A field that appears twice is an error: libvmaf takes the one, others the other.
#[derive(Deserialize)]
struct Top {
    model_dict: Dict,
}

#[derive(Deserialize)]
pub(super) struct Dict {
    pub(super) norm_type: String,
    pub(super) feature_names: Vec<String>,
    #[serde(default)]
    pub(super) slopes: Vec<f64>,
    #[serde(default)]
    pub(super) intercepts: Vec<f64>,
    pub(super) model: String,
    score_clip: Option<(f64, f64)>,
    score_transform: Option<ScoreTransform>,
    chroma_correction_parameter: Option<f64>,
}

#[derive(Deserialize)]
struct ScoreTransform {
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

/// The guide and the guided of [`Follow`], by parts of their names.
const LUMA: &str = "adm3";
const CHROMA: &str = "speed_chroma";
/// libvmaf keeps no more.
const MOST_KNOTS: usize = 10;

impl Dict {
    pub(super) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(serde_json::from_slice::<Top>(json)?.model_dict)
    }

    pub(super) fn chroma(&self) -> Result<Option<Follow>, String> {
        let Some(factor) = self.chroma_correction_parameter else { return Ok(None) };
        let only = |part: &str| {
            let mut found =
                (0..self.feature_names.len()).filter(|&index| self.feature_names[index].contains(part));
            match (found.next(), found.next()) {
                (Some(index), None) => Ok(index),
                _ => Err(format!("it corrects chroma and has not exactly one feature with {part:?}")),
            }
        };
        // libvmaf takes zero to mean that there is no score.
        if factor == 0.0 {
            return Err("its chroma_correction_parameter is zero".to_owned());
        }
        Ok(Some(Follow { luma: only(LUMA)?, chroma: only(CHROMA)?, factor }))
    }

    pub(super) fn output(&self) -> Result<Output, String> {
        let (Some(&slope), Some(&intercept)) = (self.slopes.first(), self.intercepts.first()) else {
            return Err("it has no slope for the score".to_owned());
        };
        if slope <= 0.0 {
            return Err("its slope for the score is not above zero".to_owned());
        }
        if self.score_clip.is_some_and(|(least, most)| least >= most) {
            return Err("its score_clip leaves no score".to_owned());
        }
        let transform = match &self.score_transform {
            Some(transform) if transform.enabled => Some(transform.read()?),
            _ => None,
        };
        Ok(Output { slope, intercept, transform, clip: self.score_clip })
    }
}

impl ScoreTransform {
    fn read(&self) -> Result<Transform, String> {
        let knots: Vec<Knot> = self.knots.iter().map(|&(x, y)| Knot { x, y }).collect();
        let rises = knots.is_sorted_by(|a, b| a.x < b.x && a.y <= b.y);
        if !knots.is_empty() && (knots.len() < 2 || knots.len() > MOST_KNOTS || !rises) {
            return Err("the knots of its score_transform do not go up".to_owned());
        }
        let polynomial = match (self.p0, self.p1, self.p2) {
            (None, None, None) => [0.0, 1.0, 0.0],
            (p0, p1, p2) => [p0, p1, p2].map(Option::unwrap_or_default),
        };
        let (at_most_input, at_least_input) = (self.out_lte_in == "true", self.out_gte_in == "true");
        Ok(Transform { polynomial, knots, at_most_input, at_least_input })
    }
}

/// The short name inside a model's name for a feature: `VMAF_integer_feature_adm2_score` is `adm2`.
pub(super) fn stem(name: &str) -> &str {
    let name = name.split_once("_feature_").map_or(name, |(_, stem)| stem);
    name.strip_suffix("_score").unwrap_or(name)
}
