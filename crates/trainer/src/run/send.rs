//! Sends checkpoints to the registry, one at a time, and keeps count of them.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use jiff::Timestamp;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use vmafx_oci::Digest;

use crate::checkpoint::{Last, PushError, Pushed, Registry, Schedule, Snapshot, Stable};
use crate::status::{self, Board, TrainerMetrics, Written};

/// Between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// What came of an errand.
pub(super) enum Outcome {
    /// A checkpoint.
    Push { result: Result<Pushed, PushError>, about: Facts, tried: Vec<Digest>, took: Duration },
    /// The stable tag alone.
    Promote(Result<(), PushError>),
}

/// What is remembered of a snapshot while it is on its way.
pub(super) struct Facts {
    samples: u64,
    created: Timestamp,
    gate: status::Gate,
}

/// Keeps count.
pub(super) struct Sender {
    registry: Registry,
    next: u64,
    parent: Option<Digest>,
    /// Manifests that may have got there without us hearing of it.
    tried: Vec<Digest>,
    /// A version that the stable tag should be moved to, and when.
    promote: Option<(Digest, String, Instant)>,
    pauses: ExponentialBackoff,
    board: Board,
    metrics: TrainerMetrics,
}

impl Sender {
    pub(super) fn new(
        registry: Registry,
        next: u64,
        parent: Option<Digest>,
        board: Board,
        metrics: TrainerMetrics,
    ) -> Self {
        Self { registry, next, parent, tried: Vec::new(), promote: None, pauses: pauses(), board, metrics }
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// An attempt at bringing a snapshot there.
    pub(super) fn push(
        &self,
        snapshot: Snapshot,
        begun: Instant,
    ) -> impl Future<Output = Outcome> + Send + 'static {
        let (registry, next, parent) = (self.registry.clone(), self.next, self.parent.clone());
        let mut tried = self.tried.clone();
        async move {
            let result = registry.push(&snapshot, next, parent, &mut tried).await;
            let about = Facts {
                samples: snapshot.facts.samples,
                created: snapshot.facts.created,
                gate: status::Gate {
                    passed: snapshot.facts.gate_passed,
                    message: snapshot.facts.gate_message.clone(),
                },
            };
            Outcome::Push { result, about, tried, took: begun.elapsed() }
        }
    }

    /// Moves the stable tag if that is still to be done and it is time; when to look again.
    pub(super) fn promote_if_due(
        &mut self,
        sending: &mut JoinSet<Outcome>,
        schedule: &mut Schedule,
        now: Instant,
    ) -> Option<Instant> {
        let (digest, _, due) = self.promote.as_ref()?;
        if *due > now {
            return Some(*due);
        }
        let (registry, digest) = (self.registry.clone(), digest.clone());
        schedule.sent();
        sending.spawn(async move { Outcome::Promote(registry.promote(&digest).await) });
        None
    }

    /// Whether the stable tag is still to be moved.
    pub(super) fn has_to_promote(&self) -> bool {
        self.promote.is_some()
    }

    /// Makes due at once what waits for its time.
    pub(super) fn hurry(&mut self) {
        if let Some((_, _, due)) = &mut self.promote {
            *due = Instant::now();
        }
        self.pauses = pauses();
    }

    /// Notes what came of an errand.
    pub(super) fn ended(&mut self, outcome: Result<Outcome, JoinError>, schedule: &mut Schedule) {
        match outcome {
            Ok(Outcome::Push { result: Ok(pushed), about, took, .. }) => {
                self.arrived(pushed, about, took, schedule);
            }
            Ok(Outcome::Push { result: Err(error), tried, .. }) => {
                self.tried = tried;
                self.failed(&error);
                schedule.failed(self.pause());
            }
            Ok(Outcome::Promote(Ok(()))) => {
                schedule.settled();
                self.promoted();
            }
            Ok(Outcome::Promote(Err(error))) => {
                schedule.settled();
                self.failed(&error);
                let due = self.pause();
                if let Some((_, _, at)) = &mut self.promote {
                    *at = due;
                }
            }
            Err(error) => {
                tracing::error!(%error, "a checkpoint was not sent");
                schedule.failed(self.pause());
            }
        }
    }

    fn arrived(&mut self, pushed: Pushed, about: Facts, took: Duration, schedule: &mut Schedule) {
        let Pushed { number, version, digest, met, stable } = pushed;
        tracing::info!(version, %digest, samples = about.samples, ?took, ?stable, "a checkpoint was written");
        self.metrics.pushed(took);
        self.metrics.last_checkpoint(about.created);
        self.next = number.saturating_add(1);
        self.parent = Some(digest.clone());
        self.tried.clear();
        self.pauses = pauses();
        schedule.arrived(Last { at: Some(Instant::now()), samples: about.samples });
        self.board.update(|status| {
            status.checkpoint =
                Some(Written { version: version.clone(), digest: digest.to_string(), at: about.created });
            status.gate = Some(about.gate);
            status.push_error.clear();
            status.notice = met.map(|met| another(&met, &version)).unwrap_or_default();
        });
        match stable {
            Stable::Kept => {}
            Stable::Moved => {
                self.promote = Some((digest, version, Instant::now()));
                self.promoted();
            }
            Stable::Failed(error) => {
                self.failed(&error);
                let due = self.pause();
                self.promote = Some((digest, version, due));
            }
        }
    }

    fn promoted(&mut self) {
        let Some((_, version, _)) = self.promote.take() else { return };
        self.board.update(|status| {
            status.stable_version = Some(version);
            status.push_error.clear();
        });
    }

    fn failed(&self, error: &PushError) {
        tracing::warn!(error = error as &dyn std::error::Error, "the registry was not reached");
        self.metrics.push_failed(error.reason);
        self.board.update(|status| status.push_error = error.to_string());
    }

    fn pause(&mut self) -> Instant {
        Instant::now() + self.pauses.next().unwrap_or(LONGEST_PAUSE)
    }
}

fn another(met: &str, version: &str) -> String {
    format!("{met} is not ours: another trainer pushes under this name; went on with {version}")
}

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_secs(1))
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .build()
}
