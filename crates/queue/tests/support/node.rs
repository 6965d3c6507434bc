//! A node as a test plays it.

use vmafx_job::{FailureReason, ScoreResult};
use vmafx_queue::job::Progress;
use vmafx_queue::node::{Beat, Credentials, Pulse, Report, SessionToken};
use vmafx_queue::store::{Claim, Released, Reported};
use vmafx_queue::{Job, JobId};

use super::build::score;
use super::fixture::Fixture;

/// A session, and the queue as it sees it.
#[derive(Clone)]
pub(crate) struct TestNode {
    pub(crate) queue: Fixture,
    pub(crate) who: Credentials,
    pub(crate) backends: Vec<String>,
}

/// The answer to a report without what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    NoSession,
    Fenced,
    Repeated,
    Moved,
}

impl From<&Reported> for Said {
    fn from(reported: &Reported) -> Self {
        match reported {
            Reported::NoSession => Self::NoSession,
            Reported::Fenced => Self::Fenced,
            Reported::Repeated => Self::Repeated,
            Reported::Moved { .. } => Self::Moved,
        }
    }
}

impl TestNode {
    /// The same session with a secret that is not its own.
    pub(crate) fn with_wrong_token(&self) -> Self {
        let token = SessionToken(format!("{}x", self.who.token.0));
        Self { who: Credentials { token, ..self.who }, ..self.clone() }
    }

    /// The same session by another tenant's token.
    pub(crate) fn of(&self, tenant: &str) -> Self {
        Self { queue: self.queue.of(tenant), ..self.clone() }
    }

    pub(crate) async fn claim(&self) -> Claim {
        self.queue.store.claim(&self.queue.tenant, &self.who, &self.backends).await.unwrap()
    }

    /// The job there must be.
    pub(crate) async fn take(&self) -> Job {
        match self.claim().await {
            Claim::Job(job) => *job,
            other => panic!("a job was expected, not {other:?}"),
        }
    }

    /// Takes until there is nothing more.
    pub(crate) async fn take_all(&self) -> Vec<JobId> {
        let mut taken = Vec::new();
        while let Claim::Job(job) = self.claim().await {
            taken.push(job.id);
        }
        taken
    }

    pub(crate) async fn has_nothing(&self) -> bool {
        matches!(self.claim().await, Claim::Nothing { .. })
    }

    pub(crate) async fn report(&self, report: Report) -> Reported {
        self.queue.store.report(&self.queue.tenant, &self.who, report).await.unwrap()
    }

    pub(crate) async fn complete_with(&self, job: &Job, success: ScoreResult) -> Said {
        (&self.report(Report { job: job.id, attempt: Some(job.attempt), result: Ok(success) }).await).into()
    }

    pub(crate) async fn complete(&self, job: &Job) -> Said {
        self.complete_with(job, score(80.0)).await
    }

    pub(crate) async fn fail(&self, job: &Job, text: &str) -> Said {
        let result = Err((FailureReason::InputInvalid, text.to_owned()));
        (&self.report(Report { job: job.id, attempt: Some(job.attempt), result }).await).into()
    }

    pub(crate) async fn release(&self, job: &Job) -> Released {
        let store = &self.queue.store;
        store.release(&self.queue.tenant, &self.who, job.id, job.attempt, "shutting down").await.unwrap()
    }

    pub(crate) async fn beat_with(&self, beat: Beat) -> Option<Pulse> {
        self.queue.store.heartbeat(&self.queue.tenant, &self.who, beat).await.unwrap()
    }

    /// A heartbeat that names these jobs.
    pub(crate) async fn beat(&self, running: &[JobId]) -> Option<Pulse> {
        self.beat_with(Beat { running: running.to_vec(), progress: vec![] }).await
    }

    /// A heartbeat with progress of one job.
    pub(crate) async fn progress(&self, job: &Job, done: u64, total: u64) -> Option<Pulse> {
        let progress = vec![(job.id, job.attempt, Progress { done, total })];
        self.beat_with(Beat { running: vec![job.id], progress }).await
    }

    /// Submits a job and takes it: for cases that begin with a running one.
    pub(crate) async fn holds(&self, job: super::build::JobBuilder) -> Job {
        let id = self.queue.submit(job).await;
        let taken = self.take().await;
        assert_eq!(taken.id, id, "the only job that fits");
        taken
    }
}
