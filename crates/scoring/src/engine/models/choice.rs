//! The user's choice of a model.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelChoice {
    /// The model that fits the clip.
    #[default]
    Auto,
    Named(String),
    File(PathBuf),
}

impl FromStr for ModelChoice {
    type Err = Infallible;

    /// `auto`, a path (with a slash, or ending in `.json`), or the name of a built-in model.
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
