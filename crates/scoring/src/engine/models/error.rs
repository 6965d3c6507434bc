//! What can be wrong with a model.

mod class;

use std::io;
use std::path::PathBuf;

use crate::picture::Format;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No built-in model has this name.
    #[error("there is no model {name:?}; did you mean {}? A model file is named by its path, such as ./{name}.json", nearest.join(" or "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names that are most like it.
        nearest: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("cannot read the model file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no JSON, or not that of a model.
    #[error("model {model} is not a VMAF model in JSON")]
    Json {
        /// The model.
        model: String,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The model contradicts itself.
    #[error("model {model} is damaged: {problem}")]
    Damaged {
        /// The model.
        model: String,
        /// What is wrong.
        problem: String,
    },
    /// A feature that is not computed here.
    #[error(
        "model {model} uses the feature {feature:?}, which this engine does not compute; the floating-point models are not supported, use the one without \"float\" in its name"
    )]
    Feature {
        /// The model.
        model: String,
        /// The feature.
        feature: String,
    },
    /// An option that is unknown or not allowed.
    #[error("model {model} sets {option} of {feature} to {value:?}, which is not supported")]
    Option {
        /// The model.
        model: String,
        /// The feature.
        feature: String,
        /// The option.
        option: String,
        /// Its value.
        value: String,
    },
    /// Pictures that the model cannot judge.
    #[error(
        "model {model} needs {needs}, and the pictures are {format}; use vmaf_v0.6.1, or compare at a larger size"
    )]
    TooSmall {
        /// The model.
        model: String,
        /// The rule.
        needs: String,
        /// The shape of the comparison.
        format: Format,
    },
}
