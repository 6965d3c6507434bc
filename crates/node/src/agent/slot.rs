//! One slot: pulls a job, has it scored, says how it ended, pulls the next.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::Status;
use vmafx_kit::tasks::Shutdown;
use vmafx_proto::controller::v1::{Job, NodeCapability, PullWorkRequest, ReleaseJobRequest};

use super::board::{Board, Ended, Pinned};
use super::calls::Controller;
use super::metrics::{NodeMetrics, Outcome};
use super::score::Scorer;
use super::session::Registered;
use super::wire;
use crate::launch::Unscored;

/// A pull that comes back empty sooner than this was not held by the controller: it knows no waiting.
const HELD: Duration = Duration::from_secs(1);
/// What is waited then, as a node does that knows no waiting.
const POLL: Duration = Duration::from_secs(2);

pub(super) struct Slot {
    pub(super) controller: Controller,
    pub(super) session: watch::Receiver<Option<Registered>>,
    pub(super) backends: Vec<String>,
    pub(super) slots: i32,
    pub(super) board: Board,
    pub(super) scorer: Arc<Scorer>,
    pub(super) metrics: NodeMetrics,
    pub(super) grace: Duration,
}

impl Slot {
    /// Works until it is told to leave, and then to the end of its job or of the grace.
    pub(super) async fn run(mut self, leaving: Shutdown) {
        let mut pauses = pauses();
        while let Some(session) = leaving.run_until_begun(self.session()).await.flatten() {
            let asked = Instant::now();
            // Cut short, a pull that found a job at that very moment gives it back by itself: see the controller.
            let Some(pulled) = leaving.run_until_begun(self.controller.pull(self.asked(&session))).await
            else {
                return;
            };
            match pulled {
                Ok(Some(job)) => {
                    pauses = self::pauses();
                    self.work(job, &session, &leaving).await;
                }
                Ok(None) => {
                    pauses = self::pauses();
                    if asked.elapsed() < HELD {
                        let _ = leaving.run_until_begun(tokio::time::sleep(POLL)).await;
                    }
                }
                Err(status) => {
                    let pause = pauses.next().unwrap_or(Duration::from_secs(30));
                    tracing::warn!(code = ?status.code(), said = status.message(), ?pause, "cannot pull");
                    let _ = leaving.run_until_begun(tokio::time::sleep(pause)).await;
                }
            }
        }
    }

    /// The session, as soon as there is one.
    async fn session(&mut self) -> Option<Registered> {
        self.session.wait_for(Option::is_some).await.ok()?.clone()
    }

    fn asked(&self, session: &Registered) -> PullWorkRequest {
        PullWorkRequest {
            node_id: session.node_id.clone(),
            session_token: session.token.clone(),
            capability: Some(NodeCapability {
                backends: self.backends.clone(),
                concurrency: self.slots,
                ..NodeCapability::default()
            }),
            ..PullWorkRequest::default()
        }
    }

    /// Has a job scored and says how it ended.
    async fn work(&self, job: Job, session: &Registered, leaving: &Shutdown) {
        let pinned = self.board.pin(&job.id, job.attempt, &session.node_id);
        let _counted = self.metrics.begin();
        let begun = Instant::now();
        tracing::info!(job = job.id, attempt = job.attempt, "job begun");
        let scored = {
            let scoring = self.scorer.score(&job, &pinned.cancel, |done, total| pinned.progress(done, total));
            let patience = async {
                leaving.begun().await;
                tokio::time::sleep(self.grace).await;
                pinned.leave();
                std::future::pending::<()>().await;
            };
            tokio::select! {
                scored = scoring => scored,
                () = patience => return,
            }
        };
        let outcome = match (scored, pinned.ended()) {
            // Done all the same: whoever ended it came too late, and the controller knows whether it still counts.
            (Ok(scored), _) => self.report(&job, session, wire::success(&scored), Outcome::Completed).await,
            (Err(Unscored::Failed(failure)), None) => {
                self.report(&job, session, wire::failure(&failure), Outcome::Failed).await
            }
            (Err(_), Some(Ended::Leaving)) => self.release(&job, session).await,
            (Err(_), Some(Ended::Cancelled)) => Outcome::Cancelled,
            (Err(_), Some(Ended::Lost) | None) => Outcome::Lost,
        };
        self.metrics.end(outcome, begun.elapsed());
        tracing::info!(job = job.id, attempt = job.attempt, ?outcome, elapsed = ?begun.elapsed(), "job ended");
        drop::<Pinned>(pinned);
    }

    async fn report(&self, job: &Job, session: &Registered, told: wire::Told, outcome: Outcome) -> Outcome {
        let asked = wire::report(job, (&session.node_id, &session.token), told);
        match self.controller.report(asked).await {
            Ok(()) => outcome,
            Err(status) => lost(job, &status, "the result was not taken"),
        }
    }

    async fn release(&self, job: &Job, session: &Registered) -> Outcome {
        let asked = ReleaseJobRequest {
            node_id: session.node_id.clone(),
            session_token: session.token.clone(),
            job_id: job.id.clone(),
            attempt: job.attempt,
            reason: "the node is shutting down".to_owned(),
        };
        match self.controller.release(asked).await {
            Ok(_) => Outcome::Released,
            Err(status) => lost(job, &status, "the job was not given back; its lease will do it"),
        }
    }
}

fn lost(job: &Job, status: &Status, what: &str) -> Outcome {
    tracing::warn!(job = job.id, code = ?status.code(), said = status.message(), "{what}");
    Outcome::Lost
}

fn pauses() -> backon::ExponentialBackoff {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(500))
        .with_max_delay(Duration::from_secs(30))
        .without_max_times()
        .build()
}
