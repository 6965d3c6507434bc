//! Models: built-in ones, files, and the choice between them.
//!
//! A model is validated completely before libvmaf loads it, because libvmaf's parser trusts its input: it accepts `nan` and
//! scores with it, and a support vector with a negative index makes it write out of bounds.

mod auto;
mod catalogue;
mod choice;
mod document;
mod error;
mod suggest;
mod svm;

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use self::document::ModelDocument;
use super::features::{RequiredExtractors, feature_log_name};
use crate::picture::PictureFormat;

pub use catalogue::{BuiltInModel, built_in};
pub use choice::ModelChoice;
pub use error::ModelError;
pub use svm::SupportVectorMachine;

/// A validated model.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name of a built-in model, or the file name without extension.
    pub name: String,
    pub picked_because: Option<String>,
    /// Digest of the JSON, `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    json: Cow<'static, [u8]>,
    document: ModelDocument,
}

impl Model {
    /// The chosen model. `auto` and the minimum size depend on the format and frame rate of the pictures.
    pub fn find(
        choice: &ModelChoice,
        format: PictureFormat,
        frame_rate: Option<f64>,
    ) -> Result<Self, ModelError> {
        let model = match choice {
            ModelChoice::Auto => {
                let pick = auto::pick(format, frame_rate);
                Self { picked_because: Some(pick.because), ..Self::named(pick.name)? }
            }
            ModelChoice::Named(name) => Self::named(name)?,
            ModelChoice::File(path) => Self::file(path)?,
        };
        match model.document.unmet_minimum(format) {
            Some(needs) => Err(ModelError::TooSmall { model: model.name, needs, format }),
            None => Ok(model),
        }
    }

    pub fn named(name: &str) -> Result<Self, ModelError> {
        let json = catalogue::json(name).ok_or_else(|| ModelError::Unknown {
            name: name.to_owned(),
            nearest: suggest::nearest(name, built_in().map(|model| model.name)),
        })?;
        Self::parse(name.to_owned(), Cow::Borrowed(json))
    }

    pub fn file(path: &Path) -> Result<Self, ModelError> {
        let json = fs::read(path).map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self::parse(name, Cow::Owned(json))
    }

    pub fn from_json(name: &str, json: &[u8]) -> Result<Self, ModelError> {
        Self::parse(name.to_owned(), Cow::Owned(json.to_owned()))
    }

    fn parse(name: String, json: Cow<'static, [u8]>) -> Result<Self, ModelError> {
        let document = ModelDocument::parse(&name, &json)?;
        let digest = Sha256::digest(&json).iter().fold("sha256:".to_owned(), |mut text, byte| {
            use std::fmt::Write;
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok(Self { name, picked_because: None, digest, json, document })
    }

    /// Whether its scores have a confidence interval.
    pub fn has_interval(&self) -> bool {
        self.document.members > 1
    }

    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// The features that the model uses, by their names in reports, such as `integer_adm2_egl_1`. In the order of the model;
    /// without duplicates for a bootstrap model.
    pub fn feature_names(&self) -> impl Iterator<Item = String> {
        self.document.features.iter().filter_map(|feature| feature_log_name(&feature.name, &feature.options))
    }

    pub(super) fn members(&self) -> usize {
        self.document.members
    }

    pub(super) fn add_extractors(&self, required: &mut RequiredExtractors) -> Result<(), super::EngineError> {
        for feature in &self.document.features {
            required
                .add_feature(&feature.name, &feature.options)
                .map_err(|conflict| super::EngineError::Clash { extractor: conflict.extractor })?;
        }
        Ok(())
    }
}
