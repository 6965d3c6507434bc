//! A model file: parses it, validates it, and tells which features it uses with which options.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Number, Value};
use vmafx_job::PixelFormat;

use super::error::ModelError;
use super::svm::SupportVectorMachine;
use crate::engine::features::{UnsupportedOption, by_feature, checked_option};
use crate::picture::PictureFormat;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelDocument {
    pub(super) features: Vec<UsedFeature>,
    /// Number of models in the file: more than one in a bootstrap model.
    pub(super) members: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct UsedFeature {
    pub(super) name: String,
    pub(super) options: BTreeMap<String, String>,
}

/// One model in a file. A duplicated field is an error of the parser; libvmaf would use both.
#[derive(Deserialize)]
struct ModelFile {
    model_dict: ModelDict,
}

#[derive(Deserialize)]
struct ModelDict {
    model_type: String,
    norm_type: String,
    feature_names: Vec<String>,
    #[serde(default)]
    feature_opts_dicts: Vec<BTreeMap<String, Value>>,
    #[serde(default)]
    slopes: Vec<Number>,
    #[serde(default)]
    intercepts: Vec<Number>,
    model: String,
}

impl ModelDocument {
    pub(super) fn parse(name: &str, json: &[u8]) -> Result<Self, ModelError> {
        let damage = |source| ModelError::Json { model: name.to_owned(), source };
        let top: Value = serde_json::from_slice(json).map_err(damage)?;
        let models: Vec<ModelFile> = if top.get("0").is_some() && top.get("model_dict").is_none() {
            let members: BTreeMap<String, ModelFile> = serde_json::from_slice(json).map_err(damage)?;
            let mut members: Vec<(usize, ModelFile)> = members
                .into_iter()
                .map(|(key, model)| key.parse().map(|key| (key, model)))
                .collect::<Result<_, _>>()
                .map_err(|_| damaged(name, "the models in it are not numbered"))?;
            members.sort_by_key(|(key, _)| *key);
            if members.len() < 2 || members.iter().enumerate().any(|(index, (key, _))| index != *key) {
                return Err(damaged(name, "the models in it are not numbered from 0 without a gap"));
            }
            members.into_iter().map(|(_, model)| model).collect()
        } else {
            vec![serde_json::from_slice(json).map_err(damage)?]
        };
        let bootstrap = models.len() > 1;
        let mut features = Vec::new();
        for model in &models {
            for feature in used(name, &model.model_dict, bootstrap)? {
                if !features.contains(&feature) {
                    features.push(feature);
                }
            }
        }
        Ok(Self { features, members: models.len() })
    }

    /// The minimum size of the model, if pictures of this format are below it.
    pub(super) fn unmet_minimum(&self, format: PictureFormat) -> Option<String> {
        self.features.iter().find_map(|feature| match by_feature(&feature.name)?.name {
            "cambi" if format.width < CAMBI_MINIMUM && format.height < CAMBI_MINIMUM => {
                Some(format!("at least {CAMBI_MINIMUM} pixels in width or height"))
            }
            "speed_chroma" => {
                let scale =
                    feature.options.get("speed_prescale").map_or(Ok(1.0), |scale| scale.parse::<f64>());
                let scale = scale.unwrap_or(1.0);
                let (width, height) = chroma_size(format);
                let enough = |samples: u32| f64::from(samples) * scale + 0.5 >= SPEED_MINIMUM;
                let enough = enough(width) && enough(height);
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A small positive number.
                let minimum = (SPEED_MINIMUM / scale).ceil() as u32;
                (!enough).then(|| format!("at least {minimum} chroma samples in width and height"))
            }
            _ => None,
        })
    }
}

/// The size of chroma planes in libvmaf, where an odd luma size rounds down.
fn chroma_size(format: PictureFormat) -> (u32, u32) {
    let (width, height) = (format.width, format.height);
    match format.chroma {
        PixelFormat::Yuv420p => (width / 2, height / 2),
        PixelFormat::Yuv422p => (width / 2, height),
        PixelFormat::Yuv444p => (width, height),
    }
}

/// CAMBI refuses pictures that have fewer pixels in both directions.
const CAMBI_MINIMUM: u32 = 216;
/// `speed_chroma` reads blocks of 5 by 5 samples after halving the picture four times. In smaller pictures it reads out of
/// bounds.
const SPEED_MINIMUM: f64 = 80.0;

fn damaged(model: &str, problem: impl Into<String>) -> ModelError {
    ModelError::Damaged { model: model.to_owned(), problem: problem.into() }
}

fn used(model: &str, dict: &ModelDict, bootstrap: bool) -> Result<Vec<UsedFeature>, ModelError> {
    let kinds: &[&str] =
        if bootstrap { &["BOOTSTRAP_LIBSVMNUSVR", "RESIDUEBOOTSTRAP_LIBSVMNUSVR"] } else { &["LIBSVMNUSVR"] };
    if !kinds.contains(&dict.model_type.as_str()) {
        return Err(damaged(model, format!("its type is {:?}, not {}", dict.model_type, kinds[0])));
    }
    let count = dict.feature_names.len();
    if count == 0 {
        return Err(damaged(model, "it uses no feature"));
    }
    let rescales = match dict.norm_type.as_str() {
        "linear_rescale" => true,
        "none" => false,
        other => return Err(damaged(model, format!("its normalisation is {other:?}"))),
    };
    for (list, numbers) in [("slopes", &dict.slopes), ("intercepts", &dict.intercepts)] {
        // There is one number for the score and one for each feature.
        if rescales && numbers.len() != count + 1 {
            return Err(damaged(model, format!("it has {} {list} for {count} features", numbers.len())));
        }
        if numbers.iter().any(|number| !number.as_f64().is_some_and(f64::is_finite)) {
            return Err(damaged(model, format!("one of its {list} is not a number")));
        }
    }
    if rescales && dict.slopes.iter().any(|slope| slope.as_f64() == Some(0.0)) {
        return Err(damaged(model, "one of its slopes is zero"));
    }
    if !dict.feature_opts_dicts.is_empty() && dict.feature_opts_dicts.len() != count {
        return Err(damaged(model, "it does not have one set of options for each feature"));
    }
    SupportVectorMachine::parse(&dict.model, count).map_err(|problem| damaged(model, problem))?;
    let none = BTreeMap::new();
    let options = dict.feature_opts_dicts.iter().chain(std::iter::repeat(&none));
    dict.feature_names.iter().zip(options).map(|(name, options)| feature(model, name, options)).collect()
}

fn feature(model: &str, name: &str, options: &BTreeMap<String, Value>) -> Result<UsedFeature, ModelError> {
    let extractor = by_feature(name)
        .ok_or_else(|| ModelError::Feature { model: model.to_owned(), feature: name.to_owned() })?;
    let options = options
        .iter()
        .map(|(option, value)| match checked_option(extractor, option, value) {
            Ok(value) => Ok((option.clone(), value)),
            Err(UnsupportedOption) => Err(ModelError::Option {
                model: model.to_owned(),
                feature: name.to_owned(),
                option: option.clone(),
                value: value.to_string(),
            }),
        })
        .collect::<Result<_, _>>()?;
    Ok(UsedFeature { name: name.to_owned(), options })
}
