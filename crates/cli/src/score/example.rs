//! Scoring outcomes for tests.

use std::collections::BTreeMap;

use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::outcome::{Alignment, EngineVersions, InputDetails, ModelScores, ScoringOutcome};
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::shots::Shot;

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

pub(crate) fn outcome(distorted: &str, scores: &[f64]) -> ScoringOutcome {
    let count = scores.len() as u64;
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
            picked_because: Some("it fits".to_owned()),
            digest: format!("sha256:{}", "0b".repeat(32)),
            scores: scores.to_vec(),
            intervals: None,
        }],
        features: BTreeMap::from([
            ("integer_adm2".to_owned(), scores.to_vec()),
            ("psnr_y".to_owned(), scores.to_vec()),
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
