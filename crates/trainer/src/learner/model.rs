//! The base model: what libvmaf makes of a JSON file, as far as a learner needs it.
//!
//! ```text
//! features ──rescale──▶ x ──Σ weight·exp(−gamma·|x − centre|²) − rho──▶ ──rescale──▶ score ──transform, clip──▶ told
//! ```
//!
//! The engine has checked the file already when this reads it; what is checked here is what an engine need not mind and
//! a learner must: one machine, trained as all of VMAF's are, on rescaled features.

mod dict;
mod error;
mod output;

use serde_json::Value;
use vmafx_scoring::engine::models::{Machine, Model};

use self::dict::Dict;
pub use error::ModelError;
pub(super) use output::Output;

/// A model that can be learned from.
#[derive(Clone, Debug)]
pub struct BaseModel {
    name: String,
    digest: String,
    features: Vec<String>,
    stems: Vec<String>,
    /// Slope and intercept of each feature.
    rescale: Vec<(f64, f64)>,
    chroma: Option<Follow>,
    machine: Machine,
    output: Output,
    /// All of the file, for the export.
    json: Value,
}

/// Without any chroma to look at, libvmaf takes chroma to be as bad as luma.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Follow {
    luma: usize,
    chroma: usize,
    factor: f64,
}

impl BaseModel {
    /// Reads libvmaf's JSON. `name` is for messages.
    pub fn parse(name: &str, json: &[u8]) -> Result<Self, ModelError> {
        let model = Model::from_json(name, json)?;
        if model.has_interval() {
            return Err(ModelError::Collection { model: name.to_owned() });
        }
        let unfit = |problem: String| ModelError::Unfit { model: name.to_owned(), problem };
        let dict = Dict::parse(json).map_err(|source| ModelError::Json { model: name.to_owned(), source })?;
        let features: Vec<String> = model.feature_names().collect();
        if features.len() != dict.feature_names.len() {
            return Err(unfit("it uses a feature twice".to_owned()));
        }
        if dict.norm_type != "linear_rescale" {
            return Err(unfit(format!("its norm_type is {:?}, not \"linear_rescale\"", dict.norm_type)));
        }
        let machine = Machine::parse(&dict.model, features.len()).map_err(unfit)?;
        if machine.kind != "nu_svr" {
            return Err(unfit(format!("its svm_type is {}, not nu_svr", machine.kind)));
        }
        let chroma = dict.chroma().map_err(unfit)?;
        let output = dict.output().map_err(unfit)?;
        let rescale = dict.slopes.iter().copied().zip(dict.intercepts.iter().copied()).skip(1).collect();
        let stems = dict.feature_names.iter().map(|name| dict::stem(name).to_owned()).collect();
        let json = serde_json::from_slice(json)
            .map_err(|source| ModelError::Json { model: name.to_owned(), source })?;
        Ok(Self {
            name: name.to_owned(),
            digest: model.digest,
            features,
            stems,
            rescale,
            chroma,
            machine,
            output,
            json,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of its features as samples have them, in its order.
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// The short names of its features, such as `adm2`, in its order.
    pub fn stems(&self) -> &[String] {
        &self.stems
    }

    /// Digest of its JSON, `sha256:` and 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What is between features and score.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The ends of its scale.
    pub fn clip(&self) -> Option<(f64, f64)> {
        self.output.clip()
    }

    /// The score of features in the order of [`features`](Self::features).
    pub fn score(&self, features: &[f64]) -> f64 {
        self.score_seen(&self.rescaled(features))
    }

    /// The score of a point as the machine sees it, which is how support vectors are written.
    pub fn score_seen(&self, seen: &[f64]) -> f64 {
        self.output.score(self.points(&self.bumps(seen)))
    }

    /// How near a point is to each support vector.
    pub(super) fn bumps(&self, seen: &[f64]) -> Vec<f64> {
        self.machine.vectors.iter().map(|centre| bump(self.machine.gamma, seen, centre)).collect()
    }

    /// What the machine makes of that, before transform and clip.
    pub(super) fn points(&self, bumps: &[f64]) -> f64 {
        let said =
            bumps.iter().zip(&self.machine.weights).fold(0.0, |said, (bump, weight)| said + weight * bump);
        self.output.points(said - self.machine.rho)
    }

    pub(super) fn output(&self) -> &Output {
        &self.output
    }

    pub(super) fn json(&self) -> &Value {
        &self.json
    }

    /// Features as the machine sees them.
    pub(super) fn rescaled(&self, features: &[f64]) -> Vec<f64> {
        let rescale = |value: f64, (slope, intercept): (f64, f64)| slope * value + intercept;
        let mut seen: Vec<f64> =
            features.iter().zip(&self.rescale).map(|(&value, &line)| rescale(value, line)).collect();
        if let Some(Follow { luma, chroma, factor }) = self.chroma {
            // From there and back, as libvmaf does it: what counts is whether that gives zero.
            let back = |index: usize| (seen[index] - self.rescale[index].1) / self.rescale[index].0;
            if back(chroma) == 0.0 {
                seen[chroma] = rescale(-factor * back(luma) + factor, self.rescale[chroma]);
            }
        }
        seen
    }
}

/// libsvm's radial kernel, summed in its order.
pub(super) fn bump(gamma: f64, left: &[f64], right: &[f64]) -> f64 {
    let distance = left.iter().zip(right).fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b));
    (-gamma * distance).exp()
}

#[cfg(test)]
mod tests;
