//! A model as the user names it.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A model as the user names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelChoice {
    /// The one that fits the clip.
    #[default]
    Auto,
    /// A built-in one.
    Named(String),
    /// A file.
    File(PathBuf),
}

impl FromStr for ModelChoice {
    type Err = Infallible;

    /// `auto`, a path (with a slash, or ending in `.json`), or else a name.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "auto" => Self::Auto,
            path if path.contains('/') || Path::new(path).extension().is_some_and(|end| end == "json") => {
                Self::File(path.into())
            }
            name => Self::Named(name.to_owned()),
        })
    }
}
