//! The inside of a model: what it looks at, its support vectors, and what it predicts.
//!
//! Only what the engine has checked comes here, so this reader is short: it takes a single nu-SVR with an RBF kernel and
//! linear rescaling apart, and says what else there is.

use serde::Deserialize;
use serde_json::Value;

/// One model of a file, as far as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Machine {
    /// As the file has them.
    pub(super) features: Vec<String>,
    pub(super) gamma: f64,
    pub(super) rho: f64,
    pub(super) clip: Option<[f64; 2]>,
    /// A weight and a point each.
    pub(super) vectors: Vec<(f64, Vec<f64>)>,
    slopes: Vec<f64>,
    intercepts: Vec<f64>,
    transform: Transform,
}

#[derive(Deserialize)]
struct Document {
    model_dict: Dict,
}

#[derive(Deserialize)]
struct Dict {
    feature_names: Vec<String>,
    #[serde(default)]
    slopes: Vec<f64>,
    #[serde(default)]
    intercepts: Vec<f64>,
    score_clip: Option<[f64; 2]>,
    #[serde(default)]
    score_transform: Transform,
    model: String,
}

/// What is done to a score in the end.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct Transform {
    enabled: Value,
    p0: Option<f64>,
    p1: Option<f64>,
    p2: Option<f64>,
    knots: Value,
}

impl Machine {
    /// Takes a model apart; the problem in words if it is of another kind.
    pub(super) fn parse(json: &[u8]) -> Result<Self, String> {
        let document: Document = serde_json::from_slice(json)
            .map_err(|_| "it is several models in one, or none that libvmaf reads".to_owned())?;
        let dict = document.model_dict;
        let count = dict.feature_names.len();
        let (head, vectors) = dict.model.split_once("SV\n").ok_or("its support vectors are missing")?;
        let number = |key: &str| -> Result<f64, String> {
            let found = head.lines().find_map(|line| line.trim().strip_prefix(key)?.trim().parse().ok());
            found.ok_or_else(|| format!("its {key} is missing"))
        };
        let vectors = vectors.lines().map(str::trim).filter(|line| !line.is_empty());
        let vectors: Option<Vec<_>> = vectors.map(|line| vector(line, count)).collect();
        if dict.slopes.len() != count + 1 || dict.intercepts.len() != count + 1 {
            return Err("its features are not rescaled one by one".to_owned());
        }
        if dict.score_transform.enabled == true && !dict.score_transform.knots.is_null() {
            return Err("its scores are bent at knots".to_owned());
        }
        Ok(Self {
            features: dict.feature_names,
            gamma: number("gamma")?,
            rho: number("rho")?,
            clip: dict.score_clip,
            vectors: vectors.ok_or("one of its support vectors cannot be read")?,
            slopes: dict.slopes,
            intercepts: dict.intercepts,
            transform: dict.score_transform,
        })
    }

    /// The score of one clip, by features in the model's order.
    pub(super) fn predict(&self, features: &[f64]) -> f64 {
        let scaled = features.iter().zip(&self.slopes[1..]).zip(&self.intercepts[1..]);
        let scaled: Vec<f64> = scaled.map(|((value, slope), intercept)| slope * value + intercept).collect();
        self.predict_scaled(&scaled)
    }

    /// The same of a point that is rescaled already, as support vectors are.
    pub(super) fn predict_scaled(&self, point: &[f64]) -> f64 {
        let near = |at: &[f64]| {
            let distance: f64 = at.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum();
            (-self.gamma * distance).exp()
        };
        let sum: f64 = self.vectors.iter().map(|(weight, at)| weight * near(at)).sum();
        let score = (sum - self.rho - self.intercepts[0]) / self.slopes[0];
        let score = if self.transform.enabled == true { self.transform.of(score) } else { score };
        self.clip.map_or(score, |[low, high]| score.clamp(low, high))
    }
}

impl Transform {
    fn of(&self, score: f64) -> f64 {
        let terms = [self.p0, self.p1.map(|p1| p1 * score), self.p2.map(|p2| p2 * score * score)];
        if terms.iter().all(Option::is_none) { score } else { terms.into_iter().flatten().sum() }
    }
}

/// `weight index:value …`; what is left out is zero.
fn vector(line: &str, features: usize) -> Option<(f64, Vec<f64>)> {
    let mut words = line.split_ascii_whitespace();
    let weight = words.next()?.parse().ok()?;
    let mut point = vec![0.0; features];
    for word in words {
        let (index, value) = word.split_once(':')?;
        *point.get_mut(index.parse::<usize>().ok()?.checked_sub(1)?)? = value.parse().ok()?;
    }
    Some((weight, point))
}

/// The name of a feature without what all of them have: `adm2` of `VMAF_integer_feature_adm2_score`.
pub(super) fn short(feature: &str) -> &str {
    let name = feature.strip_suffix("_score").unwrap_or(feature);
    let name = name.rsplit_once("_feature_").map_or(name, |(_, name)| name);
    name.strip_prefix("integer_").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_scoring::engine::models::Model;

    use super::*;

    #[test]
    fn the_classic_is_taken_apart() {
        let machine = Machine::parse(Model::named("vmaf_v0.6.1").unwrap().json()).unwrap();
        assert_eq!((machine.vectors.len(), machine.features.len()), (211, 6));
        assert_eq!((machine.gamma, machine.rho, machine.clip), (0.04, -1.33133, Some([0.0, 100.0])));
        let names: Vec<_> = machine.features.iter().map(|name| short(name)).collect();
        assert_eq!(names, ["adm2", "motion2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3"]);
    }

    #[test]
    fn a_frame_scores_as_libvmaf_scores_it() {
        let machine = Machine::parse(Model::named("vmaf_v0.6.1").unwrap().json()).unwrap();
        let frame = [
            0.985_104_282_724_285_7,
            1.509_055_718_315_972_3,
            0.719_198_942_184_448_2,
            0.969_613_194_465_637_2,
            0.985_631_763_935_089_1,
            0.990_764_975_547_790_5,
        ];
        let score = machine.predict(&frame);
        assert!((score - 94.687_951_238_753_67).abs() < 1e-6, "{score}");
    }

    #[test]
    fn a_perfect_clip_scores_high_and_a_bad_one_low() {
        let machine = Machine::parse(Model::named("vmaf_v0.6.1").unwrap().json()).unwrap();
        let good = machine.predict(&[1.0, 5.0, 1.0, 1.0, 1.0, 1.0]);
        let bad = machine.predict(&[0.6, 5.0, 0.1, 0.2, 0.3, 0.4]);
        assert!(good > 95.0 && bad < 30.0, "{good} {bad}");
    }

    #[test]
    fn several_models_in_one_are_told() {
        let problem = Machine::parse(Model::named("vmaf_b_v0.6.3").unwrap().json()).unwrap_err();
        assert!(problem.contains("several models"), "{problem}");
    }

    #[rstest]
    #[case("VMAF_integer_feature_vif_scale0_score", "vif_scale0")]
    #[case("Cambi_feature_cambi_score", "cambi")]
    #[case("integer_adm2", "adm2")]
    #[case("adm2", "adm2")]
    fn a_feature_has_a_short_name(#[case] name: &str, #[case] expected: &str) {
        assert_eq!(short(name), expected);
    }
}
