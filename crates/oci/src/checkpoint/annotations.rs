//! Values in the annotations of a manifest.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// Characters of a value that an error quotes.
const MAX_QUOTED: usize = 80;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointMetadataError {
    #[error("it is not a checkpoint: the annotation {0} is missing")]
    Missing(String),
    #[error("it is not a checkpoint: the annotation {key} is {value:?}")]
    Invalid { key: String, value: String },
}

impl CheckpointMetadataError {
    pub(super) fn invalid(key: &str, value: &str) -> Self {
        Self::Invalid { key: key.to_owned(), value: value.chars().take(MAX_QUOTED).collect() }
    }
}

#[derive(Default)]
pub(super) struct AnnotationWriter(BTreeMap<String, String>);

impl AnnotationWriter {
    /// Rust writes the shortest decimal that parses back to the same number.
    pub(super) fn put(&mut self, key: &str, value: impl Display) {
        self.0.insert(key.to_owned(), value.to_string());
    }

    pub(super) fn put_optional(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    pub(super) fn finish(self) -> BTreeMap<String, String> {
        self.0
    }
}

#[derive(Clone, Copy)]
pub(super) struct AnnotationReader<'a>(pub(super) &'a BTreeMap<String, String>);

impl AnnotationReader<'_> {
    pub(super) fn get<T: FromStr>(self, key: &str) -> Result<T, CheckpointMetadataError> {
        self.get_optional(key)?.ok_or_else(|| CheckpointMetadataError::Missing(key.to_owned()))
    }

    pub(super) fn get_optional<T: FromStr>(self, key: &str) -> Result<Option<T>, CheckpointMetadataError> {
        let Some(text) = self.0.get(key) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| CheckpointMetadataError::invalid(key, text))
    }
}
