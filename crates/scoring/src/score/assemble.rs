//! Builds the outcome of a comparison.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Request;
use super::lengths::FrameCount;
use super::pass::ProbedClip;
use super::plan::{Comparison, hdr_warnings, near_zero_warning};
use super::scored_clip::ScoredClip;
use crate::engine;
use crate::engine::models::Model;
use crate::outcome::{Alignment, EngineVersions, InputDetails, ModelScores, ScoringOutcome, Warning};

pub(super) struct FinishedComparison {
    pub(super) scored: ScoredClip,
    pub(super) models: Vec<Model>,
}

pub(super) fn outcome(
    request: &Request,
    (reference, distorted): (ProbedClip<'_>, ProbedClip<'_>),
    comparison: Comparison,
    finished: FinishedComparison,
    digests: &BTreeMap<PathBuf, String>,
) -> ScoringOutcome {
    let ScoredClip { scores, lengths, shots } = finished.scored;
    let paired = lengths.paired();
    let [unpaired_reference, unpaired_distorted] =
        [lengths.reference, lengths.distorted].map(|frames| frames.number().saturating_sub(paired));
    let estimated = !(lengths.reference.is_exact() && lengths.distorted.is_exact());
    let mut warnings = comparison.warnings;
    warnings.extend(hdr_warnings(
        finished.models.iter().map(|model| model.name.as_str()),
        &reference.properties(),
        &distorted.properties(),
    ));
    if unpaired_reference + unpaired_distorted > 0 {
        warnings.push(Warning::Shortened {
            reference: unpaired_reference,
            distorted: unpaired_distorted,
            estimated,
        });
    }
    let models: Vec<ModelScores> = finished
        .models
        .into_iter()
        .zip(scores.models)
        .map(|(model, series)| ModelScores {
            name: model.name,
            picked_because: model.picked_because,
            digest: model.digest,
            scores: series.scores,
            intervals: series.intervals,
        })
        .collect();
    warnings.extend(models.iter().filter_map(|model| near_zero_warning(&model.name, &model.scores)));
    let details = |clip: ProbedClip<'_>, frames: FrameCount, offset: u64| InputDetails {
        path: clip.clip.path.clone(),
        codec: clip.probe.codec.clone(),
        format: clip.probe.format,
        frame_rate: clip.probe.frame_rate,
        frames: frames.number() + offset,
        frames_estimated: !frames.is_exact(),
        digest: digests.get(&clip.clip.path).cloned().unwrap_or_default(),
    };
    ScoringOutcome {
        reference: details(reference, lengths.reference, request.reference_offset),
        distorted: details(distorted, lengths.distorted, request.distorted_offset),
        alignment: Alignment {
            format: comparison.format,
            scaled_by: comparison.scaled.then(|| request.scale_filter.name().to_owned()),
            reference_offset: request.reference_offset,
            distorted_offset: request.distorted_offset,
            step: request.step(),
            unpaired_reference,
            unpaired_distorted,
            unpaired_estimated: estimated,
        },
        frames: scores.frames,
        models,
        features: scores.features,
        shots,
        worst_moments: Vec::new(),
        warnings,
        engine: EngineVersions {
            vmafx: env!("CARGO_PKG_VERSION").to_owned(),
            libvmaf: engine::version(),
            features: request.engine.to_string(),
        },
    }
}
