//! Engine sessions on generated frames, and what they cost.

use std::slice;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use vmafx_scoring::engine::models::Model;
use vmafx_scoring::engine::session::{EngineSession, Registration, SessionSetup};
use vmafx_scoring::engine::{Engine, EngineError};

use super::content::{FrameSet, PAIRS};

/// Rounds of each engine, of which the fastest counts: other load on the machine only adds time.
pub(super) const ROUNDS: usize = 3;

/// How long a measurement is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Amount {
    /// About so many seconds for all rounds of an engine.
    Seconds(f64),
    /// So many frames in each round.
    Frames(u32),
}

/// A session from its setup to its scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Round {
    pub(super) frames: u32,
    pub(super) cpu_seconds: f64,
    pub(super) wall_seconds: f64,
}

/// What an engine needed.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) engine: Engine,
    pub(super) rounds: Vec<Round>,
    /// Of the frames of the first pairs.
    pub(super) scores: Vec<f64>,
}

/// Both engines with the same frames and model.
pub(super) struct Comparison<'a> {
    pub(super) model: &'a Model,
    pub(super) frames: &'a FrameSet,
    pub(super) engines: [Engine; 2],
    pub(super) threads: u32,
    pub(super) amount: Amount,
}

impl Comparison<'_> {
    /// Measures the engines in turns, and calls `started` before every round. `None` after a cancellation.
    pub(super) fn measure(
        &self,
        cancelled: &CancellationToken,
        started: &dyn Fn(Engine),
    ) -> Result<Option<[Measured; 2]>, EngineError> {
        let mut counts = [0; 2];
        let mut measured =
            self.engines.map(|engine| Measured { engine, rounds: Vec::new(), scores: Vec::new() });
        for (measured, count) in measured.iter_mut().zip(&mut counts) {
            // This also reads the program and its tables into memory. Both engines get the same number of frames, because the
            // motion of the last ones depends on it.
            let Some((trial, scores)) = self.score(measured.engine, PAIRS * self.threads, cancelled)? else {
                return Ok(None);
            };
            measured.scores = scores;
            *count = match self.amount {
                Amount::Frames(frames) => frames,
                Amount::Seconds(seconds) => frames_within(seconds, &trial, self.threads),
            };
        }
        for _ in 0..ROUNDS {
            for (measured, count) in measured.iter_mut().zip(counts) {
                started(measured.engine);
                let Some((round, _)) = self.score(measured.engine, count, cancelled)? else {
                    return Ok(None);
                };
                measured.rounds.push(round);
            }
        }
        Ok(Some(measured))
    }

    /// Scores so many frames. The cost contains the setup and the model.
    fn score(
        &self,
        engine: Engine,
        count: u32,
        cancelled: &CancellationToken,
    ) -> Result<Option<(Round, Vec<f64>)>, EngineError> {
        let setup = SessionSetup {
            format: self.frames.format(),
            models: slice::from_ref(self.model),
            features: &[],
            clips: 1,
            separate_motion: false,
            threads: self.threads,
            registration: Registration::default(),
            engine,
            cpu_mask: 0,
        };
        let (started, cpu) = (Instant::now(), cpu_time());
        let mut session = EngineSession::new(&setup)?;
        for frame in 0..count {
            if cancelled.is_cancelled() {
                return Ok(None);
            }
            let (reference, distorted) = self.frames.pair(frame);
            session.reference(frame.into(), &reference)?;
            session.pair(0, frame.into(), reference, distorted)?;
        }
        let scores = session.finish(&[count])?;
        let round = Round {
            frames: count,
            cpu_seconds: cpu_time().saturating_sub(cpu).as_secs_f64(),
            wall_seconds: started.elapsed().as_secs_f64(),
        };
        let scores = scores.into_iter().flat_map(|clip| clip.models).flat_map(|model| model.scores);
        Ok(Some((round, scores.collect())))
    }
}

/// Frames of one round, at least a few for each thread.
fn frames_within(seconds: f64, trial: &Round, threads: u32) -> u32 {
    let per_frame = trial.wall_seconds / f64::from(trial.frames);
    #[expect(clippy::cast_precision_loss, reason = "the number of rounds is small")]
    let frames = seconds / ROUNDS as f64 / per_frame;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a conversion saturates")]
    let frames = frames as u32;
    frames.max(2 * threads)
}

/// Of all threads of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_a_third_of_the_time_and_at_least_two_frames_for_each_thread() {
        let trial = Round { frames: 10, cpu_seconds: 0.0, wall_seconds: 1.0 };
        assert_eq!(frames_within(6.0, &trial, 1), 20);
        assert_eq!(frames_within(0.001, &trial, 4), 8);
    }
}
