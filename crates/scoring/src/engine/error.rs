//! What can go wrong in the engine.

mod class;

use super::ffi::Failure;
use super::models::ModelError;
use crate::picture::Format;

/// Why the engine cannot score.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A model cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Pictures so small that libvmaf's result would depend on chance.
    #[error(
        "pictures of {format} are too small to be scored: compare at a size of at least 97x33 (width from 33 on if it \
         leaves no 1 to 4 when divided by 16)"
    )]
    TooSmall {
        /// The shape of the comparison.
        format: Format,
    },
    /// An extra feature that cannot be computed at this size.
    #[error(
        "{feature} needs {needs}, and the pictures are {format}; leave it out, or compare at a larger size"
    )]
    FeatureTooSmall {
        /// The feature.
        feature: &'static str,
        /// The rule.
        needs: &'static str,
        /// The shape of the comparison.
        format: Format,
    },
    /// Two models that cannot be computed in one pass.
    #[error("two of the models want {extractor} computed in different ways; score them in separate runs")]
    Clash {
        /// The extractor.
        extractor: &'static str,
    },
    /// More models and features than one context can hold.
    #[error("these are too many models and features for one pass; score them in several runs")]
    TooMany {
        /// What libvmaf said.
        source: Failure,
    },
    /// Nothing was asked for.
    #[error("there is nothing to compute: name at least one model or feature")]
    Nothing,
    /// libvmaf could not be set up.
    #[error("libvmaf could not be set up for pictures of {format}")]
    Setup {
        /// The shape of the comparison.
        format: Format,
        /// What libvmaf said.
        source: Failure,
    },
    /// A frame could not be measured.
    #[error("libvmaf could not measure frame {frame}")]
    Frame {
        /// The pair, counted from the first.
        frame: u64,
        /// What libvmaf said.
        source: Failure,
    },
    /// The end of the clip could not be computed.
    #[error("libvmaf could not finish after {frames} frames")]
    Finish {
        /// Frames that were fed.
        frames: u64,
        /// What libvmaf said.
        source: Failure,
    },
    /// A frame has no value.
    #[error("frame {frame} has no {name}; libvmaf could not measure it")]
    Missing {
        /// The pair, counted from the first.
        frame: u64,
        /// The model or the feature.
        name: String,
        /// What libvmaf said.
        source: Failure,
    },
    /// A score that is no number: the model is damaged.
    #[error("model {model} gives {score} for frame {frame}, which is no score; the model file is damaged")]
    NotFinite {
        /// The model.
        model: String,
        /// The pair, counted from the first.
        frame: u64,
        /// What it gave.
        score: f64,
    },
    /// A clip longer than libvmaf can count.
    #[error("frame {frame} is beyond what one pass can hold; score the clip in chunks")]
    TooLong {
        /// The pair, counted from the first.
        frame: u64,
    },
}
