//! One slot: pulls a job, has it scored, reports the result, pulls the next.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vmafx_job::ScoreResult;
use vmafx_kit::tasks::Shutdown;
use vmafx_proto::controller::v1::{Job, NodeCapability, PullWorkRequest, ReleaseJobRequest};

use super::controller_client::ControllerClient;
use super::metrics::{JobOutcome, NodeMetrics};
use super::outbox::StoredReport;
use super::reports::{Delivery, Reports};
use super::running_jobs::{RunningJobGuard, RunningJobs, StopCause};
use super::session::Session;
use super::wire;
use crate::launch::Unscored;
use crate::scorer::{Scorer, ScoringContext};
use crate::start::KernelGuard;

/// A pull that returns without a job sooner than this comes from a controller that does not support waiting.
const MIN_PULL_WAIT: Duration = Duration::from_secs(1);
/// Poll interval with such a controller.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

pub(super) struct Slot {
    pub(super) controller: ControllerClient,
    pub(super) session: watch::Receiver<Option<Session>>,
    pub(super) backends: Vec<String>,
    pub(super) slots: i32,
    pub(super) serves: Vec<String>,
    pub(super) jobs: RunningJobs,
    pub(super) reports: Reports,
    pub(super) scorer: Arc<Scorer>,
    pub(super) metrics: NodeMetrics,
    pub(super) kernels: KernelGuard,
    pub(super) shutdown_grace: Duration,
}

impl Slot {
    /// Runs until shutdown begins, and then to the end of its job or of the grace period.
    pub(super) async fn run(mut self, shutdown: Shutdown) {
        let mut delays = retry_delays();
        while let Some(session) = shutdown.run_until_begun(self.session()).await.flatten() {
            if self.kernels.is_out_of_service() {
                shutdown.begun().await;
                return;
            }
            let start = Instant::now();
            // When the shutdown interrupts a pull that has just found a job, the controller takes the job back.
            let pull = self.controller.pull(self.pull_request(&session));
            let pulled = tokio::select! {
                pulled = shutdown.run_until_begun(pull) => pulled,
                () = self.kernels.out_of_service() => continue,
            };
            let Some(pulled) = pulled else {
                return;
            };
            match pulled {
                Ok(Some(job)) => {
                    delays = retry_delays();
                    self.run_job(job, &session, &shutdown).await;
                }
                Ok(None) => {
                    delays = retry_delays();
                    if start.elapsed() < MIN_PULL_WAIT {
                        let _ = shutdown.run_until_begun(tokio::time::sleep(POLL_INTERVAL)).await;
                    }
                }
                Err(status) => {
                    let retry_in = delays.next().unwrap_or(Duration::from_secs(30));
                    tracing::warn!(code = ?status.code(), error = status.message(), ?retry_in, "cannot pull");
                    let _ = shutdown.run_until_begun(tokio::time::sleep(retry_in)).await;
                }
            }
        }
    }

    /// The session, as soon as there is one.
    async fn session(&mut self) -> Option<Session> {
        self.session.wait_for(Option::is_some).await.ok()?.clone()
    }

    fn pull_request(&self, session: &Session) -> PullWorkRequest {
        PullWorkRequest {
            node_id: session.node_id.clone(),
            session_token: session.token.clone(),
            capability: Some(NodeCapability {
                backends: self.backends.clone(),
                concurrency: self.slots,
                ..NodeCapability::default()
            }),
            serves: self.serves.clone(),
            ..PullWorkRequest::default()
        }
    }

    async fn run_job(&self, job: Job, session: &Session, shutdown: &Shutdown) {
        let running = self.jobs.add(&job, &session.node_id);
        let _counted = self.metrics.job_started();
        let start = Instant::now();
        tracing::info!(job = job.id, attempt = job.attempt, tenant = job.tenant, "job started");
        let grace_over = CancellationToken::new();
        let grace_period = async {
            shutdown.begun().await;
            tokio::time::sleep(self.shutdown_grace).await;
            // The scorer and the delivery of the result return by themselves then.
            running.stop_for_shutdown();
            grace_over.cancel();
            std::future::pending::<()>().await;
        };
        let outcome = tokio::select! {
            outcome = self.score_and_report(&job, session, &running, &grace_over) => outcome,
            () = grace_period => return,
        };
        self.metrics.job_ended(outcome, start.elapsed());
        tracing::info!(job = job.id, attempt = job.attempt, ?outcome, elapsed = ?start.elapsed(), "job ended");
        // Until here heartbeats renew the lease, which the report needs.
        drop(running);
    }

    async fn score_and_report(
        &self,
        job: &Job,
        session: &Session,
        running: &RunningJobGuard,
        grace_over: &CancellationToken,
    ) -> JobOutcome {
        let result = match (self.score(job, running).await, running.stop_cause()) {
            // A result is reported even if the job was stopped meanwhile: the controller knows whether it still counts.
            (Ok(score), _) => Ok(score),
            (Err(Unscored::Failed(failure)), None) => {
                self.kernels.failed(&failure);
                Err(failure)
            }
            (Err(_), Some(StopCause::Shutdown)) => return self.release(job, session).await,
            (Err(_), Some(StopCause::Cancelled)) => return JobOutcome::Cancelled,
            (Err(_), Some(StopCause::Lost) | None) => return JobOutcome::Lost,
        };
        let outcome = if result.is_ok() { JobOutcome::Completed } else { JobOutcome::Failed };
        let report = StoredReport {
            node_id: session.node_id.clone(),
            session_token: session.token.clone(),
            job_id: job.id.clone(),
            tenant: job.tenant.clone(),
            attempt: job.attempt,
            result,
        };
        match self.reports.deliver(report, grace_over).await {
            Delivery::Accepted => outcome,
            Delivery::Kept => JobOutcome::Undelivered,
            Delivery::Refused | Delivery::Dropped => JobOutcome::Lost,
        }
    }

    async fn score(&self, job: &Job, running: &RunningJobGuard) -> Result<ScoreResult, Unscored> {
        let request = wire::request(job)?;
        let context = ScoringContext {
            scoring_roots: &job.scoring_roots,
            report_roots: &job.report_roots,
            cancel: &running.cancel,
            // An operator submits the job of a resource again if the controller has lost it.
            report_is_new: job.attempt == 1 && job.origin.is_none(),
            progress: |done, total| running.progress(done, total),
        };
        self.scorer.score(&request, context).await
    }

    async fn release(&self, job: &Job, session: &Session) -> JobOutcome {
        let request = ReleaseJobRequest {
            node_id: session.node_id.clone(),
            session_token: session.token.clone(),
            job_id: job.id.clone(),
            tenant: job.tenant.clone(),
            attempt: job.attempt,
            reason: "the node is shutting down".to_owned(),
        };
        match self.controller.release(request).await {
            Ok(()) => JobOutcome::Released,
            Err(status) => {
                let (code, error) = (status.code(), status.message());
                tracing::warn!(job = job.id, ?code, error, "the job was not released; its lease will expire");
                JobOutcome::Lost
            }
        }
    }
}

fn retry_delays() -> backon::ExponentialBackoff {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(500))
        .with_max_delay(Duration::from_secs(30))
        .without_max_times()
        .build()
}
