//! The base model: libvmaf's JSON, as far as a learner needs it.
//!
//! ```text
//! features ──rescale──▶ x ──Σ weight·exp(−gamma·|x − vector|²) − rho──▶ ──rescale──▶ points ──transform, clip──▶ score
//! ```
//!
//! The scoring engine validates the file first. This module then checks what scoring does not depend on and learning
//! does: a single support vector machine of VMAF's type, on rescaled features.

mod dict;
mod error;
mod output;

use serde_json::Value;
use vmafx_scoring::engine::models::{Model, SupportVectorMachine};

use self::dict::ModelDict;
pub use error::ModelError;
pub(super) use output::ScoreMapping;

/// A model that can be trained further.
#[derive(Clone, Debug)]
pub struct BaseModel {
    name: String,
    digest: String,
    features: Vec<String>,
    stems: Vec<String>,
    /// Slope and intercept of each feature.
    rescale: Vec<(f64, f64)>,
    chroma: Option<ChromaCorrection>,
    machine: SupportVectorMachine,
    output: ScoreMapping,
    /// The whole file, which the export reproduces.
    json: Value,
}

/// Where the chroma feature is exactly zero, because the clip has no chroma, libvmaf derives it from a luma feature.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ChromaCorrection {
    /// Index of a feature.
    luma: usize,
    /// Index of a feature.
    chroma: usize,
    factor: f64,
}

impl BaseModel {
    /// Parses libvmaf's JSON. `name` is used in messages only.
    pub fn parse(name: &str, json: &[u8]) -> Result<Self, ModelError> {
        let model = Model::from_json(name, json)?;
        if model.has_interval() {
            return Err(ModelError::Collection { model: name.to_owned() });
        }
        let unfit = |problem: String| ModelError::Unfit { model: name.to_owned(), problem };
        let dict =
            ModelDict::parse(json).map_err(|source| ModelError::Json { model: name.to_owned(), source })?;
        let features: Vec<String> = model.feature_names().collect();
        if features.len() != dict.feature_names.len() {
            return Err(unfit("it uses a feature twice".to_owned()));
        }
        if dict.norm_type != "linear_rescale" {
            return Err(unfit(format!("its norm_type is {:?}, not \"linear_rescale\"", dict.norm_type)));
        }
        let machine = SupportVectorMachine::parse(&dict.model, features.len()).map_err(unfit)?;
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

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the features as samples have them, in the model's order.
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// The short names of the features, such as `adm2`, in the model's order.
    pub fn stems(&self) -> &[String] {
        &self.stems
    }

    /// Digest of the JSON, `sha256:` and 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    pub fn machine(&self) -> &SupportVectorMachine {
        &self.machine
    }

    /// Minimum and maximum score.
    pub fn clip(&self) -> Option<(f64, f64)> {
        self.output.clip()
    }

    /// The score of features in the order of [`features`](Self::features).
    pub fn score(&self, features: &[f64]) -> f64 {
        self.score_rescaled(&self.rescaled(features))
    }

    /// The score of rescaled features; support vectors are stored in this form.
    pub fn score_rescaled(&self, rescaled: &[f64]) -> f64 {
        self.output.score(self.points(&self.kernels(rescaled)))
    }

    /// The kernel between rescaled features and each support vector.
    pub(super) fn kernels(&self, rescaled: &[f64]) -> Vec<f64> {
        self.machine.vectors.iter().map(|vector| rbf_kernel(self.machine.gamma, rescaled, vector)).collect()
    }

    /// The output of the machine in points, before transform and clip.
    pub(super) fn points(&self, kernels: &[f64]) -> f64 {
        let sum = kernels
            .iter()
            .zip(&self.machine.weights)
            .fold(0.0, |sum, (kernel, weight)| sum + weight * kernel);
        self.output.points(sum - self.machine.rho)
    }

    pub(super) fn output(&self) -> &ScoreMapping {
        &self.output
    }

    pub(super) fn json(&self) -> &Value {
        &self.json
    }

    pub(super) fn rescaled(&self, features: &[f64]) -> Vec<f64> {
        let rescale = |value: f64, (slope, intercept): (f64, f64)| slope * value + intercept;
        let mut rescaled: Vec<f64> =
            features.iter().zip(&self.rescale).map(|(&value, &line)| rescale(value, line)).collect();
        if let Some(ChromaCorrection { luma, chroma, factor }) = self.chroma {
            // libvmaf converts the rescaled value back and compares the result with zero; rounding makes a difference.
            let original = |index: usize| (rescaled[index] - self.rescale[index].1) / self.rescale[index].0;
            if original(chroma) == 0.0 {
                rescaled[chroma] = rescale(-factor * original(luma) + factor, self.rescale[chroma]);
            }
        }
        rescaled
    }
}

/// libsvm's radial basis function, summed in the same order.
pub(super) fn rbf_kernel(gamma: f64, left: &[f64], right: &[f64]) -> f64 {
    let distance = left.iter().zip(right).fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b));
    (-gamma * distance).exp()
}

#[cfg(test)]
mod tests;
