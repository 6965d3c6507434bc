//! A comparison from beginning to end.

use tokio_util::sync::CancellationToken;

use super::cancel::{Stops, cancellable};
use super::count::Lengths;
use super::digests::Digests;
use super::outcome::{Finished, outcome};
use super::pass::{Found, Pass};
use super::plan::{ClipFacts, Group, plan};
use super::progress::{Counter, Progress};
use super::{Request, ScoreError, chunk};
use crate::engine::models::{Model, ModelChoice, ModelError};
use crate::engine::{EngineError, session::Scores};
use crate::input::{self, Probe, Tools};
use crate::outcome::Outcome;
use crate::picture::Format;

/// Compares the distorted clips with the reference: an outcome for each, in their order.
pub fn run(
    request: &Request,
    tools: &Tools,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<Vec<Outcome>, ScoreError> {
    cancellable(cancel, |stops| run_until_stopped(request, tools, progress, stops))
}

fn run_until_stopped(
    request: &Request,
    tools: &Tools,
    progress: &dyn Progress,
    stops: &Stops,
) -> Result<Vec<Outcome>, ScoreError> {
    let probe = |clip| {
        stops.check()?;
        let found = input::probe_stoppable(clip, tools, &|stopper| stops.add(stopper));
        stops.clear();
        found.map_err(ScoreError::from)
    };
    let our_probe = probe(&request.reference)?;
    let reference = Found { clip: &request.reference, probe: &our_probe };
    let mut probes = Vec::with_capacity(request.distorted.len());
    for clip in &request.distorted {
        probes.push(probe(clip)?);
    }
    let distorted: Vec<Found<'_>> =
        request.distorted.iter().zip(&probes).map(|(clip, probe)| Found { clip, probe }).collect();
    let facts: Vec<ClipFacts> =
        distorted.iter().map(|found| ClipFacts::new(found.clip, found.probe)).collect();
    let plan = plan(request, &ClipFacts::new(reference.clip, reference.probe), &facts)?;
    for found in &distorted {
        if let Some(lengths) = known_lengths(request, reference.probe, found.probe) {
            check(request, reference, *found, lengths)?;
        }
    }

    // All that can be refused is refused before the first frame is read, for every group.
    let mut models = Vec::with_capacity(plan.groups.len());
    for group in &plan.groups {
        models.push(find_models(request, group.format, our_probe.frame_rate)?);
    }
    let digests = Digests::start(request, &plan, reference, &distorted, stops.token())?;
    let mut counter = Counter::new(progress, estimate(request, reference.probe, &distorted));
    let mut finished: Vec<Option<Finished>> = distorted.iter().map(|_| None).collect();
    for (group, models) in plan.groups.iter().zip(models) {
        let pass = Pass {
            request,
            tools,
            stops,
            digests: digests.book(),
            format: group.format,
            models: &models,
            reference,
            distorted: group.clips.iter().map(|clip| distorted[*clip]).collect(),
        };
        for (clip, (scores, lengths)) in group.clips.iter().zip(score_group(&pass, group, &mut counter)?) {
            finished[*clip] = Some(Finished { scores, lengths, models: models.clone() });
        }
    }
    let digests = digests.finish()?;
    Ok(plan
        .comparisons
        .into_iter()
        .zip(finished)
        .zip(&distorted)
        .filter_map(|((comparison, finished), found)| {
            Some(outcome(request, (reference, *found), comparison, finished?, &digests))
        })
        .collect())
}

/// Scores the clips of a group, at once or in pieces, and checks their lengths.
fn score_group(
    pass: &Pass<'_>,
    group: &Group,
    counter: &mut Counter<'_>,
) -> Result<Vec<(Scores, Lengths)>, ScoreError> {
    let request = pass.request;
    if request.chunks <= 1 {
        let swept = pass.sweep_all(counter)?;
        let mut all = Vec::with_capacity(group.clips.len());
        for ((found, scores), frames) in pass.distorted.iter().zip(swept.scores).zip(swept.distorted) {
            let lengths = Lengths { reference: swept.reference, distorted: frames };
            check(request, pass.reference, *found, lengths)?;
            all.push((scores, lengths));
        }
        return Ok(all);
    }
    // Pieces must know where they are, so the lengths come first.
    let frames = |found: Found<'_>, offset: u64| match found.probe.frames {
        Some(frames) => Ok(frames.saturating_sub(offset)),
        None => pass.length(found, offset),
    };
    let ours = frames(pass.reference, request.reference_offset)?;
    let mut lengths = Vec::with_capacity(group.clips.len());
    for found in &pass.distorted {
        let found_lengths = Lengths { reference: ours, distorted: frames(*found, request.distorted_offset)? };
        check(request, pass.reference, *found, found_lengths)?;
        lengths.push(found_lengths);
    }
    let paired: Vec<u64> = lengths.iter().map(|lengths| lengths.paired()).collect();
    let mut parts: Vec<Vec<Scores>> = vec![Vec::new(); paired.len()];
    for piece in chunk::plan(paired.iter().copied().max().unwrap_or(0), request.chunks) {
        let swept = pass.sweep_chunk(&piece, &paired, counter)?;
        for (parts, scores) in parts.iter_mut().zip(swept.scores) {
            parts.push(scores);
        }
    }
    parts
        .into_iter()
        .zip(lengths)
        .zip(&pass.distorted)
        .map(|((parts, lengths), found)| {
            let whole = chunk::merge(parts, lengths.paired(), request.step())
                .map_err(|source| ScoreError::Merge { path: found.clip.path.clone(), source })?;
            Ok((whole, lengths))
        })
        .collect()
}

/// The models asked for, each once.
fn find_models(request: &Request, format: Format, frame_rate: Option<f64>) -> Result<Vec<Model>, ScoreError> {
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
    reference: Found<'_>,
    distorted: Found<'_>,
    lengths: Lengths,
) -> Result<(), ScoreError> {
    lengths.check(
        request.options.scores_shortest(),
        (&reference.clip.path, request.reference_offset),
        (&distorted.clip.path, request.distorted_offset),
    )
}

/// Lengths that are certain before anything is read.
fn known_lengths(request: &Request, reference: &Probe, distorted: &Probe) -> Option<Lengths> {
    Some(Lengths {
        reference: reference.frames?.saturating_sub(request.reference_offset),
        distorted: distorted.frames?.saturating_sub(request.distorted_offset),
    })
}

/// How many pairs there will be, for a progress bar.
fn estimate(request: &Request, reference: &Probe, distorted: &[Found<'_>]) -> Option<u64> {
    let frames =
        |probe: &Probe, offset: u64| Some(probe.frames.or(probe.frames_estimate)?.saturating_sub(offset));
    let ours = frames(reference, request.reference_offset)?;
    distorted
        .iter()
        .map(|found| {
            let paired = ours.min(frames(found.probe, request.distorted_offset)?);
            Some(paired.div_ceil(request.step()))
        })
        .sum()
}
