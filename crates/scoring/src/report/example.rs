//! Outcomes for tests.

use std::collections::BTreeMap;

use vmafx_job::{BitDepth, PixelFormat};

use crate::outcome::{
    Alignment, ConfidenceInterval, EngineVersions, InputDetails, ModelScores, ScoringOutcome,
};
use crate::picture::PictureFormat;
use crate::shots::Shot;

const FORMAT: PictureFormat =
    PictureFormat { width: 1920, height: 1080, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };

fn input(path: &str, frames: u64) -> InputDetails {
    InputDetails {
        path: path.into(),
        codec: "h264".to_owned(),
        format: FORMAT,
        frame_rate: Some(25.0),
        frames,
        frames_estimated: false,
        digest: format!("blake3:{}", "0a".repeat(32)),
    }
}

/// These scores of `vmaf_v0.6.1`, and three features.
pub(crate) fn outcome(distorted: &str, scores: &[f64]) -> ScoringOutcome {
    let count = scores.len() as u64;
    let feature = |scale: f64| scores.iter().map(|score| score * scale).collect::<Vec<_>>();
    ScoringOutcome {
        reference: input("ref.mp4", count),
        distorted: input(distorted, count),
        alignment: Alignment {
            format: FORMAT,
            scaled_by: None,
            reference_offset: 0,
            distorted_offset: 0,
            step: 1,
            unpaired_reference: 0,
            unpaired_distorted: 0,
            unpaired_estimated: false,
        },
        frames: (0..count).collect(),
        models: vec![ModelScores {
            name: "vmaf_v0.6.1".to_owned(),
            picked_because: None,
            digest: format!("sha256:{}", "0b".repeat(32)),
            scores: scores.to_vec(),
            intervals: None,
        }],
        features: BTreeMap::from([
            ("VMAF_integer_feature_adm2_score".to_owned(), feature(0.01)),
            ("VMAF_integer_feature_motion2_score".to_owned(), feature(0.1)),
            ("psnr_y".to_owned(), feature(0.5)),
        ]),
        shots: vec![Shot { first_frame: 0, frames: count }],
        worst_moments: vec![],
        warnings: vec![],
        engine: EngineVersions {
            vmafx: "0.1.0".to_owned(),
            libvmaf: "3.2.0".to_owned(),
            features: "native-avx2".to_owned(),
        },
    }
}

/// The same with a confidence interval from 2 below to 1 above each score.
pub(crate) fn bootstrap(scores: &[f64]) -> ScoringOutcome {
    let mut outcome = outcome("dis.mp4", scores);
    outcome.models[0].name = "vmaf_b_v0.6.3".to_owned();
    outcome.models[0].intervals =
        Some(scores.iter().map(|score| ConfidenceInterval { low: score - 2.0, high: score + 1.0 }).collect());
    outcome
}
