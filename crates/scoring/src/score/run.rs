//! Runs a comparison from start to end.

use tokio_util::sync::CancellationToken;

use super::assemble::{FinishedComparison, outcome};
use super::cancel::{OpenSources, cancellable};
use super::digests::PendingDigests;
use super::lengths::{FrameCount, Lengths};
use super::pass::{Pass, ProbedClip};
use super::plan::{ClipProperties, plan};
use super::progress::{Counter, ProgressObserver};
use super::scored_clip::ScoredClip;
use super::worst_moments::MomentReader;
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
        let known = known_lengths(request, reference.probe, clip.probe);
        if let Some(lengths) = known.or_else(|| estimated_lengths(request, reference.probe, clip.probe)) {
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
        for (clip, scored) in group.clips.iter().zip(score_group(&pass, &mut counter)?) {
            finished[*clip] = Some(FinishedComparison { scored, models: models.clone() });
        }
    }
    let digests = digests.finish()?;
    let mut outcomes: Vec<ScoringOutcome> = plan
        .comparisons
        .into_iter()
        .zip(finished)
        .zip(&distorted)
        .filter_map(|((comparison, finished), clip)| {
            Some(outcome(request, (reference, *clip), comparison, finished?, &digests))
        })
        .collect();
    if request.pictures {
        let reader = MomentReader { request, tools, sources, reference };
        for group in &plan.groups {
            let of_group = distorted.iter().copied().zip(&mut outcomes).enumerate();
            reader.add_to(of_group.filter(|(clip, _)| group.clips.contains(clip)).map(|(_, pair)| pair))?;
        }
    }
    Ok(outcomes)
}

/// Scores the clips of a group, whole or in chunks, and checks their lengths.
fn score_group(pass: &Pass<'_>, counter: &mut Counter<'_>) -> Result<Vec<ScoredClip>, ScoreError> {
    let request = pass.request;
    if request.chunks <= 1 {
        let result = pass.score_all(counter)?;
        let lengths = checked_lengths(pass, result.reference, &result.distorted)?;
        let scored = result.scores.into_iter().zip(lengths);
        return Ok(scored
            .map(|(scores, lengths)| ScoredClip::new(scores, lengths, &result.differences))
            .collect());
    }
    // The lengths must be known before a clip can be cut into chunks.
    let known = pass.distorted.iter().map(|clip| known_lengths(request, pass.reference.probe, clip.probe));
    let lengths = if let Some(lengths) = known.collect::<Option<Vec<Lengths>>>() {
        lengths
    } else {
        let (reference, distorted) = pass.lengths()?;
        checked_lengths(pass, reference, &distorted)?
    };
    let paired: Vec<u64> = lengths.iter().map(|lengths| lengths.paired()).collect();
    let mut parts: Vec<Vec<FrameScores>> = vec![Vec::new(); paired.len()];
    let mut differences = Vec::new();
    for chunk in chunk::plan(paired.iter().copied().max().unwrap_or(0), request.chunks) {
        let result = pass.score_chunk(&chunk, &paired, counter)?;
        for (parts, scores) in parts.iter_mut().zip(result.scores) {
            parts.push(scores);
        }
        differences.extend(result.differences);
    }
    parts
        .into_iter()
        .zip(lengths)
        .zip(&pass.distorted)
        .map(|((parts, lengths), clip)| {
            let whole = chunk::merge(parts, lengths.paired(), request.step())
                .map_err(|source| ScoreError::Merge { path: clip.clip.path.clone(), source })?;
            Ok(ScoredClip::new(whole, lengths, &differences))
        })
        .collect()
}

/// The lengths of each pair, if the clips may be compared.
fn checked_lengths(
    pass: &Pass<'_>,
    reference: FrameCount,
    distorted: &[FrameCount],
) -> Result<Vec<Lengths>, ScoreError> {
    let request = pass.request;
    let reference = as_the_file_says(pass.reference, request.reference_offset, reference)?;
    let mut all = Vec::with_capacity(distorted.len());
    for (clip, frames) in pass.distorted.iter().zip(distorted) {
        let distorted = as_the_file_says(*clip, request.distorted_offset, *frames)?;
        let lengths = Lengths { reference, distorted };
        check(request, pass.reference, *clip, lengths)?;
        all.push(lengths);
    }
    Ok(all)
}

/// The length of a clip that was not read to its end, as precisely as its file tells it. A file that is cut off is an error
/// also where it was not read.
fn as_the_file_says(clip: ProbedClip<'_>, offset: u64, frames: FrameCount) -> Result<FrameCount, ScoreError> {
    if frames.is_exact() {
        return Ok(frames);
    }
    let after_offset = |frames: u64| frames.saturating_sub(offset);
    let exactly = input::frames_without_decoding(clip.clip, clip.probe)?.map(after_offset);
    Ok(frames.or_as_the_file_says(exactly, clip.probe.frames_estimate.map(after_offset)))
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
    Some(Lengths::exactly(
        reference.frames?.saturating_sub(request.reference_offset),
        distorted.frames?.saturating_sub(request.distorted_offset),
    ))
}

/// The lengths by what the files say of their durations.
fn estimated_lengths(request: &Request, reference: &Probe, distorted: &Probe) -> Option<Lengths> {
    let about = |probe: &Probe, offset: u64| {
        Some(FrameCount::About(probe.frames.or(probe.frames_estimate)?.saturating_sub(offset)))
    };
    Some(Lengths {
        reference: about(reference, request.reference_offset)?,
        distorted: about(distorted, request.distorted_offset)?,
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
