//! What a comparison found: facts and per-frame numbers. Pooling and writing them is the business of `report`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::picture::Format;

/// One distorted clip compared with its reference.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The reference as it was found.
    pub reference: InputFacts,
    /// The distorted clip as it was found.
    pub distorted: InputFacts,
    /// How the two were brought together.
    pub alignment: Alignment,
    /// The index of each scored pair, counted from the first pair; what all per-frame lists are parallel to.
    pub frames: Vec<u64>,
    /// The scores of each model, in the order in which the models were asked for.
    pub models: Vec<ModelScores>,
    /// Per-frame values of every feature that was computed, by libvmaf's name for it.
    pub features: BTreeMap<String, Vec<f64>>,
    /// What a careful reader should know.
    pub warnings: Vec<Warning>,
    /// What computed it.
    pub engine: EngineFacts,
}

/// An input as it was found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputFacts {
    /// Where it is.
    pub path: PathBuf,
    /// How it is stored: `y4m`, `yuv`, or the decoder's word for it such as `h264`.
    pub codec: String,
    /// The shape of its pictures.
    pub format: Format,
    /// Frames per second, where the file says it.
    pub frame_rate: Option<f64>,
    /// Frames that were read.
    pub frames: u64,
    /// Digest of the whole file, `blake3:` and 64 hexadecimal digits.
    pub digest: String,
}

/// How two clips were brought together.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Alignment {
    /// The shape in which the pictures were compared.
    pub format: Format,
    /// The scaling filter, if one of the clips was scaled.
    pub scaled_by: Option<String>,
    /// Frames skipped at the start of the reference.
    pub reference_offset: u64,
    /// Frames skipped at the start of the distorted clip.
    pub distorted_offset: u64,
    /// Every how many frames one was scored.
    pub step: u64,
    /// Frames of the reference that have no partner, because the distorted clip is shorter.
    pub unpaired_reference: u64,
    /// Frames of the distorted clip that have no partner.
    pub unpaired_distorted: u64,
}

/// What one model says.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelScores {
    /// Name of the model, also where `auto` was asked for.
    pub name: String,
    /// Why `auto` picked it; nothing when it was asked for by name.
    pub picked_because: Option<String>,
    /// Digest of the model's JSON, `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The score of each frame.
    pub scores: Vec<f64>,
    /// The 95 % confidence interval of each frame's score, for models that carry one.
    pub intervals: Option<Vec<Interval>>,
}

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What computed a score.
#[derive(Clone, Debug, Serialize)]
pub struct EngineFacts {
    /// Version of this program.
    pub vmafx: String,
    /// Version of libvmaf.
    pub libvmaf: String,
}

/// Something that does not stop a comparison but should be known.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Warning {
    /// A clip is HDR and the model was made for SDR.
    HdrWithSdrModel {
        /// The transfer function, such as `smpte2084`.
        transfer: String,
        /// The model.
        model: String,
    },
    /// Many frames score close to zero: nearly always the clips are shifted against each other.
    NearZeroFrames {
        /// The model.
        model: String,
        /// How many.
        frames: u64,
        /// Of how many.
        of: u64,
    },
    /// An even step can fall in with the pattern of the encoder and miss the bad frames.
    EvenStep {
        /// The step.
        step: u64,
    },
    /// The clips have different lengths and only the common part was scored.
    Shortened {
        /// Frames of the reference without a partner.
        reference: u64,
        /// Frames of the distorted clip without a partner.
        distorted: u64,
    },
    /// One clip uses all values for its samples and the other leaves some out; they were compared as they are.
    RangesDiffer {
        /// Whether it is the reference that uses all.
        reference_full: bool,
    },
    /// A clip was scaled to the size of the comparison.
    Scaled {
        /// From what size, such as `960x540`.
        from: String,
        /// To what size.
        to: String,
    },
    /// The chroma of a clip was converted.
    ChromaConverted {
        /// From what format.
        from: String,
        /// To what format.
        to: String,
    },
}
