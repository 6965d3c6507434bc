//! Values as annotations have them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// Longest value that an error quotes.
const QUOTED: usize = 80;

/// Why annotations are not those of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// One is not there.
    #[error("it is no checkpoint: the annotation {0} is missing")]
    Missing(String),
    /// One cannot be read.
    #[error("it is no checkpoint: the annotation {key} is {value:?}")]
    Invalid {
        /// Which one.
        key: String,
        /// What stands there.
        value: String,
    },
}

impl FactsError {
    pub(super) fn invalid(key: &str, value: &str) -> Self {
        Self::Invalid { key: key.to_owned(), value: value.chars().take(QUOTED).collect() }
    }
}

/// Collects annotations.
#[derive(Default)]
pub(super) struct Writer(BTreeMap<String, String>);

impl Writer {
    /// Rust writes the shortest decimal that is read back as the same number.
    pub(super) fn put(&mut self, key: &str, value: impl Display) {
        self.0.insert(key.to_owned(), value.to_string());
    }

    pub(super) fn put_some(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    pub(super) fn done(self) -> BTreeMap<String, String> {
        self.0
    }
}

/// Reads annotations.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a BTreeMap<String, String>);

impl Reader<'_> {
    pub(super) fn get<T: FromStr>(self, key: &str) -> Result<T, FactsError> {
        self.get_some(key)?.ok_or_else(|| FactsError::Missing(key.to_owned()))
    }

    pub(super) fn get_some<T: FromStr>(self, key: &str) -> Result<Option<T>, FactsError> {
        let Some(text) = self.0.get(key) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| FactsError::invalid(key, text))
    }
}
