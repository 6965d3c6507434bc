//! The result of a comparison: what was compared, and the values of each frame. `report` pools and writes it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::moments::WorstMoment;
use crate::picture::PictureFormat;
use crate::shots::Shot;

/// The result for one distorted clip.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScoringOutcome {
    pub reference: InputDetails,
    pub distorted: InputDetails,
    pub alignment: Alignment,
    /// The number of each scored pair, counted from the first pair. All per-frame lists are parallel to this one.
    pub frames: Vec<u64>,
    /// In the order of the request.
    pub models: Vec<ModelScores>,
    /// Values of each frame, by the name of the feature in libvmaf's logs.
    pub features: BTreeMap<String, Vec<f64>>,
    /// The shots of the reference within the paired frames, in their order; every frame is in one of them.
    pub shots: Vec<Shot>,
    /// With their pictures, the worst first; empty unless the request asks for them. Only HTML reports have them.
    #[serde(skip)]
    pub worst_moments: Vec<WorstMoment>,
    pub warnings: Vec<Warning>,
    pub engine: EngineVersions,
}

impl ScoringOutcome {
    /// Frames per second of the pairs, if one of the files says it.
    pub fn frame_rate(&self) -> Option<f64> {
        let known = |input: &InputDetails| input.frame_rate.filter(|rate| rate.is_finite() && *rate > 0.0);
        known(&self.distorted).or_else(|| known(&self.reference))
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputDetails {
    pub path: PathBuf,
    /// `y4m`, `yuv` for raw video, or the name that `ffmpeg` has for the codec, such as `h264`.
    pub codec: String,
    pub format: PictureFormat,
    /// Frames per second, if the file says it.
    pub frame_rate: Option<f64>,
    pub frames: u64,
    /// Whether the number of frames is an estimate or a lower bound: the clip is longer than the other and was not decoded to
    /// its end.
    #[serde(skip_serializing_if = "is_false")]
    pub frames_estimated: bool,
    /// Digest of the whole file, `blake3:` and 64 hexadecimal digits.
    pub digest: String,
}

/// How two clips were paired.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Alignment {
    /// The format in which the pictures were compared.
    pub format: PictureFormat,
    /// The scaling filter, if one of the clips was scaled.
    pub scaled_by: Option<String>,
    /// Frames skipped at the start of the reference.
    pub reference_offset: u64,
    /// Frames skipped at the start of the distorted clip.
    pub distorted_offset: u64,
    /// The distance between two scored frames.
    pub step: u64,
    /// Frames of the reference beyond the end of the distorted clip.
    pub unpaired_reference: u64,
    /// Frames of the distorted clip beyond the end of the reference.
    pub unpaired_distorted: u64,
    /// Whether the number of unpaired frames is an estimate or a lower bound.
    #[serde(skip_serializing_if = "is_false")]
    pub unpaired_estimated: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelScores {
    /// Name of the model, also if `auto` was requested.
    pub name: String,
    /// Why `auto` picked it; `None` if it was requested by name.
    pub picked_because: Option<String>,
    /// Digest of the model's JSON, `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// One for each frame.
    pub scores: Vec<f64>,
    /// The 95 % confidence interval of each score, for bootstrap models.
    pub intervals: Option<Vec<ConfidenceInterval>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct EngineVersions {
    pub vmafx: String,
    pub libvmaf: String,
    /// Who computed the features: see [`crate::engine::Engine`].
    pub features: String,
}

/// Something that a reader of the score should know.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Warning {
    /// A clip is HDR, and the model was trained with SDR.
    HdrWithSdrModel {
        /// Such as `smpte2084`.
        transfer: String,
        model: String,
    },
    /// Many frames score close to zero, which nearly always means that the clips are misaligned.
    NearZeroFrames { model: String, frames: u64, of: u64 },
    /// An even step can coincide with the frame pattern of the encoder and miss the bad frames.
    EvenStep { step: u64 },
    /// The clips have different lengths and only the common part was scored.
    Shortened {
        /// Unpaired frames of the reference.
        reference: u64,
        /// Unpaired frames of the distorted clip.
        distorted: u64,
        /// Whether the numbers are estimates or lower bounds.
        #[serde(skip_serializing_if = "is_false")]
        estimated: bool,
    },
    /// One clip has full range and the other limited range; samples were compared as they are.
    RangesDiffer { reference_full: bool },
    /// A clip was scaled to the size of the comparison.
    Scaled {
        /// Such as `960x540`.
        from: String,
        to: String,
    },
    /// The chroma of a clip was converted.
    ChromaConverted { from: String, to: String },
    /// There are no pictures of the worst moments although they were asked for.
    PicturesFailed {
        /// One word, as of errors. It has no path, which reports of jobs must not contain.
        reason: String,
    },
}
