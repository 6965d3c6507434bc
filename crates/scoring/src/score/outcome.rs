//! Puts together what a comparison found.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Request;
use super::count::Lengths;
use super::pass::Found;
use super::plan::{ClipFacts, Comparison, hdr_warnings, near_zero_warning};
use crate::engine;
use crate::engine::models::Model;
use crate::engine::session::Scores;
use crate::outcome::{Alignment, EngineFacts, InputFacts, ModelScores, Outcome, Warning};

/// One finished comparison.
pub(super) struct Finished {
    pub(super) scores: Scores,
    pub(super) lengths: Lengths,
    pub(super) models: Vec<Model>,
}

/// The outcome of one comparison.
pub(super) fn outcome(
    request: &Request,
    (reference, distorted): (Found<'_>, Found<'_>),
    comparison: Comparison,
    finished: Finished,
    digests: &BTreeMap<PathBuf, String>,
) -> Outcome {
    let Lengths { reference: ours, distorted: theirs } = finished.lengths;
    let paired = finished.lengths.paired();
    let (unpaired_reference, unpaired_distorted) = (ours - paired, theirs - paired);
    let mut warnings = comparison.warnings;
    warnings.extend(hdr_warnings(
        finished.models.iter().map(|model| model.name.as_str()),
        &ClipFacts::new(reference.clip, reference.probe),
        &ClipFacts::new(distorted.clip, distorted.probe),
    ));
    if unpaired_reference + unpaired_distorted > 0 {
        warnings.push(Warning::Shortened { reference: unpaired_reference, distorted: unpaired_distorted });
    }
    let models: Vec<ModelScores> = finished
        .models
        .into_iter()
        .zip(finished.scores.models)
        .map(|(model, series)| ModelScores {
            name: model.name,
            picked_because: model.picked_because,
            digest: model.digest,
            scores: series.scores,
            intervals: series.intervals,
        })
        .collect();
    warnings.extend(models.iter().filter_map(|model| near_zero_warning(&model.name, &model.scores)));
    let facts = |found: Found<'_>, frames: u64| InputFacts {
        path: found.clip.path.clone(),
        codec: found.probe.codec.clone(),
        format: found.probe.format,
        frame_rate: found.probe.frame_rate,
        frames,
        digest: digests.get(&found.clip.path).cloned().unwrap_or_default(),
    };
    Outcome {
        reference: facts(reference, ours + request.reference_offset),
        distorted: facts(distorted, theirs + request.distorted_offset),
        alignment: Alignment {
            format: comparison.format,
            scaled_by: comparison.scaled.then(|| request.scale_filter.name().to_owned()),
            reference_offset: request.reference_offset,
            distorted_offset: request.distorted_offset,
            step: request.step(),
            unpaired_reference,
            unpaired_distorted,
        },
        frames: finished.scores.frames,
        models,
        features: finished.scores.features,
        warnings,
        engine: EngineFacts { vmafx: env!("CARGO_PKG_VERSION").to_owned(), libvmaf: engine::version() },
    }
}
