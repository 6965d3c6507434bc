//! Models: the built-in ones, files, and the choice between them.
//!
//! A model is validated completely before libvmaf sees it. libvmaf's own parser trusts what it reads: it takes a model
//! with `nan` in it and scores with it, and a support vector with a negative index makes it write where it should not.

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

use self::document::Document;
use super::features::Needs;
use crate::picture::Format;

pub use catalogue::{BuiltInModel, built_in};
pub use choice::ModelChoice;
pub use error::ModelError;

/// A model that was found and understood.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name: that of a built-in model, or the file's without extension.
    pub name: String,
    /// Why `auto` picked it.
    pub picked_because: Option<String>,
    /// Digest of its JSON, `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    json: Cow<'static, [u8]>,
    document: Document,
}

impl Model {
    /// Finds the model that is meant, for pictures of this shape and rate.
    pub fn find(choice: &ModelChoice, format: Format, frame_rate: Option<f64>) -> Result<Self, ModelError> {
        let model = match choice {
            ModelChoice::Auto => {
                let pick = auto::pick(format, frame_rate);
                Self { picked_because: Some(pick.because), ..Self::named(pick.name)? }
            }
            ModelChoice::Named(name) => Self::named(name)?,
            ModelChoice::File(path) => Self::file(path)?,
        };
        match model.document.too_small_for(format) {
            Some(needs) => Err(ModelError::TooSmall { model: model.name, needs, format }),
            None => Ok(model),
        }
    }

    /// A built-in model.
    pub fn named(name: &str) -> Result<Self, ModelError> {
        let json = catalogue::json(name).ok_or_else(|| ModelError::Unknown {
            name: name.to_owned(),
            nearest: suggest::nearest(name, built_in().map(|model| model.name)),
        })?;
        Self::parse(name.to_owned(), Cow::Borrowed(json))
    }

    /// A model in a file.
    pub fn file(path: &Path) -> Result<Self, ModelError> {
        let json = fs::read(path).map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self::parse(name, Cow::Owned(json))
    }

    fn parse(name: String, json: Cow<'static, [u8]>) -> Result<Self, ModelError> {
        let document = Document::parse(&name, &json)?;
        let digest = Sha256::digest(&json).iter().fold("sha256:".to_owned(), |mut text, byte| {
            use std::fmt::Write;
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok(Self { name, picked_because: None, digest, json, document })
    }

    /// Whether it carries a confidence interval.
    pub fn has_interval(&self) -> bool {
        self.document.members > 1
    }

    /// Its JSON, as libvmaf reads it.
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    pub(super) fn members(&self) -> usize {
        self.document.members
    }

    /// Adds what it uses.
    pub(super) fn add_needs(&self, needs: &mut Needs) -> Result<(), super::EngineError> {
        for feature in &self.document.features {
            needs
                .add_feature(&feature.name, &feature.options)
                .map_err(|clash| super::EngineError::Clash { extractor: clash.extractor })?;
        }
        Ok(())
    }
}
