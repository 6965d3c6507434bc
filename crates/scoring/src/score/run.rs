//! Runs a comparison from start to end.

use tokio_util::sync::CancellationToken;

use super::assemble::{FinishedComparison, outcome};
use super::cancel::{OpenSources, cancellable};
use super::digests::PendingDigests;
use super::lengths::Lengths;
use super::pass::{Pass, ProbedClip};
use super::plan::{ClipProperties, ComparisonGroup, plan};
use super::progress::{Counter, ProgressObserver};
use super::{Request, ScoreError, chunk};
use crate::engine::models::{Model, ModelChoice, ModelError};
use crate::engine::{EngineError, session::FrameScores};
use crate::input::{self, Probe, Tools};
use crate::outcome::ScoringOutcome;
use crate::picture::PictureFormat;

/// Compares the distorted clips with the reference. Returns one outcome for each, in their order.
pub fn run(
    request: &Request,
    tools: &Tools,
    progress: &dyn ProgressObserver,
    cancel: &CancellationToken,
) -> Result<Vec<ScoringOutcome>, ScoreError> {
    cancellable(cancel, |sources| run_until_stopped(request, tools, progress, sources))
}

fn run_until_stopped(
    request: &Request,
    tools: &Tools,
    progress: &dyn ProgressObserver,
    sources: &OpenSources,
) -> Result<Vec<ScoringOutcome>, ScoreError> {
    let probe = |clip| {
        sources.check_cancelled()?;
        let probe = input::probe_stoppable(clip, tools, &|handle| sources.add(handle));
        sources.clear();
        probe.map_err(ScoreError::from)
    };
    let reference_probe = probe(&request.reference)?;
    let reference = ProbedClip { clip: &request.reference, probe: &reference_probe };
    let mut probes = Vec::with_capacity(request.distorted.len());
    for clip in &request.distorted {
        probes.push(probe(clip)?);
    }
    let distorted: Vec<ProbedClip<'_>> =
        request.distorted.iter().zip(&probes).map(|(clip, probe)| ProbedClip { clip, probe }).collect();
    let properties: Vec<ClipProperties> = distorted.iter().map(|clip| clip.properties()).collect();
    let plan = plan(request, &reference.properties(), &properties)?;
    for clip in &distorted {
        if let Some(lengths) = known_lengths(request, reference.probe, clip.probe) {
            check(request, reference, *clip, lengths)?;
        }
    }

    // Every model is checked before the first frame of any group is read.
    let mut models = Vec::with_capacity(plan.groups.len());
    for group in &plan.groups {
        models.push(find_models(request, group.format, reference_probe.frame_rate)?);
    }
    let digests = PendingDigests::start(request, &plan, reference, &distorted, sources.token())?;
    let mut counter = Counter::new(progress, estimate(request, reference.probe, &distorted));
    let mut finished: Vec<Option<FinishedComparison>> = distorted.iter().map(|_| None).collect();
    for (group, models) in plan.groups.iter().zip(models) {
        let pass = Pass {
            request,
            tools,
            sources,
            digests: digests.table(),
            format: group.format,
            models: &models,
            reference,
            distorted: group.clips.iter().map(|clip| distorted[*clip]).collect(),
        };
        for (clip, (scores, lengths)) in group.clips.iter().zip(score_group(&pass, group, &mut counter)?) {
            finished[*clip] = Some(FinishedComparison { scores, lengths, models: models.clone() });
        }
    }
    let digests = digests.finish()?;
    Ok(plan
        .comparisons
        .into_iter()
        .zip(finished)
        .zip(&distorted)
        .filter_map(|((comparison, finished), clip)| {
            Some(outcome(request, (reference, *clip), comparison, finished?, &digests))
        })
        .collect())
}

/// Scores the clips of a group, whole or in chunks, and checks their lengths.
fn score_group(
    pass: &Pass<'_>,
    group: &ComparisonGroup,
    counter: &mut Counter<'_>,
) -> Result<Vec<(FrameScores, Lengths)>, ScoreError> {
    let request = pass.request;
    if request.chunks <= 1 {
        let result = pass.score_all(counter)?;
        let mut all = Vec::with_capacity(group.clips.len());
        for ((clip, scores), frames) in pass.distorted.iter().zip(result.scores).zip(result.distorted) {
            let lengths = Lengths { reference: result.reference, distorted: frames };
            check(request, pass.reference, *clip, lengths)?;
            all.push((scores, lengths));
        }
        return Ok(all);
    }
    // The lengths must be known before a clip can be cut into chunks.
    let frames = |clip: ProbedClip<'_>, offset: u64| match clip.probe.frames {
        Some(frames) => Ok(frames.saturating_sub(offset)),
        None => pass.length(clip, offset),
    };
    let reference = frames(pass.reference, request.reference_offset)?;
    let mut lengths = Vec::with_capacity(group.clips.len());
    for clip in &pass.distorted {
        let pair = Lengths { reference, distorted: frames(*clip, request.distorted_offset)? };
        check(request, pass.reference, *clip, pair)?;
        lengths.push(pair);
    }
    let paired: Vec<u64> = lengths.iter().map(|lengths| lengths.paired()).collect();
    let mut parts: Vec<Vec<FrameScores>> = vec![Vec::new(); paired.len()];
    for chunk in chunk::plan(paired.iter().copied().max().unwrap_or(0), request.chunks) {
        let result = pass.score_chunk(&chunk, &paired, counter)?;
        for (parts, scores) in parts.iter_mut().zip(result.scores) {
            parts.push(scores);
        }
    }
    parts
        .into_iter()
        .zip(lengths)
        .zip(&pass.distorted)
        .map(|((parts, lengths), clip)| {
            let whole = chunk::merge(parts, lengths.paired(), request.step())
                .map_err(|source| ScoreError::Merge { path: clip.clip.path.clone(), source })?;
            Ok((whole, lengths))
        })
        .collect()
}

/// The requested models without duplicates.
fn find_models(
    request: &Request,
    format: PictureFormat,
    frame_rate: Option<f64>,
) -> Result<Vec<Model>, ScoreError> {
    let auto = [ModelChoice::Auto];
    let choices = if request.models.is_empty() { auto.as_slice() } else { request.models.as_slice() };
    let mut models: Vec<Model> = Vec::with_capacity(choices.len());
    for choice in choices {
        let model = Model::find(choice, format, frame_rate)
            .map_err(|error: ModelError| ScoreError::Engine(EngineError::Model(error)))?;
        if !models.iter().any(|known| known.name == model.name && known.digest == model.digest) {
            models.push(model);
        }
    }
    Ok(models)
}

fn check(
    request: &Request,
    reference: ProbedClip<'_>,
    distorted: ProbedClip<'_>,
    lengths: Lengths,
) -> Result<(), ScoreError> {
    lengths.check(
        request.options.scores_shortest(),
        (&reference.clip.path, request.reference_offset),
        (&distorted.clip.path, request.distorted_offset),
    )
}

/// The lengths, if both are certain before a frame is read.
fn known_lengths(request: &Request, reference: &Probe, distorted: &Probe) -> Option<Lengths> {
    Some(Lengths {
        reference: reference.frames?.saturating_sub(request.reference_offset),
        distorted: distorted.frames?.saturating_sub(request.distorted_offset),
    })
}

/// The number of pairs to be scored, for a progress bar.
fn estimate(request: &Request, reference: &Probe, distorted: &[ProbedClip<'_>]) -> Option<u64> {
    let frames =
        |probe: &Probe, offset: u64| Some(probe.frames.or(probe.frames_estimate)?.saturating_sub(offset));
    let reference = frames(reference, request.reference_offset)?;
    distorted
        .iter()
        .map(|clip| {
            let paired = reference.min(frames(clip.probe, request.distorted_offset)?);
            Some(paired.div_ceil(request.step()))
        })
        .sum()
}
