//! What can be wrong with a model.

mod class;

use std::io;
use std::path::PathBuf;

use crate::picture::PictureFormat;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    #[error(
        "there is no model {name:?}; did you mean {}? For a model file, give its path, such as ./{name}.json",
        nearest.join(" or ")
    )]
    Unknown { name: String, nearest: Vec<&'static str> },
    #[error("cannot read the model file {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("model {model} is not a VMAF model in JSON")]
    Json { model: String, source: serde_json::Error },
    #[error("model {model} is damaged: {problem}")]
    Damaged { model: String, problem: String },
    #[error(
        "model {model} uses the feature {feature:?}, which this engine does not compute; floating-point models are not \
         supported, so use the one without \"float\" in its name"
    )]
    Feature { model: String, feature: String },
    #[error("model {model} sets {option} of {feature} to {value:?}, which is not supported")]
    Option { model: String, feature: String, option: String, value: String },
    #[error(
        "model {model} needs {needs}, and the pictures are {format}; use vmaf_v0.6.1, or compare at a larger size"
    )]
    TooSmall { model: String, needs: String, format: PictureFormat },
}
