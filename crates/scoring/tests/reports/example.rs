//! Outcomes for tests.

use std::collections::BTreeMap;

use vmafx_job::{BitDepth, PixelFormat, ReportFormat};
use vmafx_scoring::outcome::{Alignment, EngineVersions, InputDetails, ModelScores, ScoringOutcome};
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::report::ScoringReport;
use vmafx_scoring::shots::Shot;

const FORMAT: PictureFormat =
    PictureFormat { width: 640, height: 360, chroma: PixelFormat::Yuv420p, depth: BitDepth::Ten };

fn input(path: &str, frames: u64) -> InputDetails {
    InputDetails {
        path: path.into(),
        codec: "hevc".to_owned(),
        format: FORMAT,
        frame_rate: Some(50.0),
        frames,
        frames_estimated: false,
        digest: format!("blake3:{}", "c4".repeat(32)),
    }
}

/// Every second frame, scored by two models.
pub(crate) fn comparison(distorted: &str, scores: &[f64]) -> ScoringOutcome {
    let frames = 2 * scores.len() as u64;
    let model = |name: &str, less: f64| ModelScores {
        name: name.to_owned(),
        picked_because: None,
        digest: format!("sha256:{}", "d5".repeat(32)),
        scores: scores.iter().map(|score| score - less).collect(),
        intervals: None,
    };
    ScoringOutcome {
        reference: input("reference.mkv", frames),
        distorted: input(distorted, frames),
        alignment: Alignment {
            format: FORMAT,
            scaled_by: None,
            reference_offset: 0,
            distorted_offset: 0,
            step: 2,
            unpaired_reference: 0,
            unpaired_distorted: 0,
            unpaired_estimated: false,
        },
        frames: (0..frames).step_by(2).collect(),
        models: vec![model("vmaf_v0.6.1", 0.0), model("vmaf_v0.6.1neg", 1.0)],
        features: BTreeMap::from([(
            "VMAF_integer_feature_adm2_score".to_owned(),
            scores.iter().map(|score| score / 100.0).collect(),
        )]),
        shots: vec![Shot { first_frame: 0, frames }],
        worst_moments: vec![],
        warnings: vec![],
        engine: EngineVersions {
            vmafx: "0.1.0".to_owned(),
            libvmaf: "3.2.0".to_owned(),
            features: "native-avx2".to_owned(),
        },
    }
}

pub(crate) fn written(outcomes: &[ScoringOutcome], format: ReportFormat) -> String {
    let mut out = vec![];
    ScoringReport { outcomes, speed: Some(24.567) }.write(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}
