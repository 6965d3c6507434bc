//! A node controlled by a test.

use vmafx_job::{FailureReason, ScoreResult};
use vmafx_queue::job::Progress;
use vmafx_queue::node::{Capability, Credentials, Heartbeat, HeartbeatReply, NewNode, Report, SessionToken};
use vmafx_queue::store::{Claim, Released, Reported};
use vmafx_queue::{Job, JobId, PullId};

use super::build::score;
use super::fixture::Fixture;

#[derive(Clone)]
pub(crate) struct TestNode {
    pub(crate) queue: Fixture,
    pub(crate) who: Credentials,
    pub(crate) backends: Vec<String>,
}

/// The answer to a report without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportKind {
    NoSession,
    Fenced,
    Repeated,
    Moved,
}

impl From<&Reported> for ReportKind {
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
    /// The same session with a wrong token.
    pub(crate) fn with_wrong_token(&self) -> Self {
        let token = SessionToken(format!("{}x", self.who.token.0));
        Self { who: Credentials { token, ..self.who }, ..self.clone() }
    }

    /// The same session on behalf of another tenant.
    pub(crate) fn of(&self, tenant: &str) -> Self {
        Self { queue: self.queue.of(tenant), ..self.clone() }
    }

    /// The credentials of this node for the jobs of another tenant, without a session.
    pub(crate) fn derived(&self, tenant: &str) -> Self {
        let other = self.of(tenant);
        Self { who: self.who.for_tenant(&other.queue.tenant), ..other }
    }

    /// Opens a session for the jobs of another tenant.
    pub(crate) async fn share_with(&self, tenant: &str) -> Self {
        let derived = self.derived(tenant);
        let own = self.queue.store.nodes(&self.queue.tenant).await.unwrap();
        let own = own.into_iter().find(|node| node.session == self.who.session).unwrap();
        let capability = Capability { shared: true, ..own.capability };
        let node = NewNode { name: own.name, capability, resource: None };
        let queue = &derived.queue;
        queue.store.register_as(&queue.tenant, node, &derived.who).await.unwrap();
        derived
    }

    pub(crate) async fn claim(&self) -> Claim {
        self.queue
            .store
            .claim(&self.queue.tenant, &self.who, &self.backends, None, &self.queue.limits)
            .await
            .unwrap()
    }

    /// Claims a job for a pull; panics if there is none.
    pub(crate) async fn take_for(&self, pull: PullId) -> Job {
        let store = &self.queue.store;
        match store
            .claim(&self.queue.tenant, &self.who, &self.backends, Some(pull), &self.queue.limits)
            .await
            .unwrap()
        {
            Claim::Job(job) => *job,
            other => panic!("a job was expected, not {other:?}"),
        }
    }

    /// Gives back what the pulls claimed; returns how many jobs.
    pub(crate) async fn lost(&self, pulls: &[PullId]) -> u64 {
        self.queue.store.release_pulls(&self.queue.tenant, &self.who, pulls).await.unwrap()
    }

    /// Claims a job; panics if there is none.
    pub(crate) async fn take(&self) -> Job {
        match self.claim().await {
            Claim::Job(job) => *job,
            other => panic!("a job was expected, not {other:?}"),
        }
    }

    /// Claims until no job is left.
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

    pub(crate) async fn complete_with(&self, job: &Job, result: ScoreResult) -> ReportKind {
        (&self.report(Report { job: job.id, attempt: Some(job.attempt), result: Ok(result) }).await).into()
    }

    pub(crate) async fn complete(&self, job: &Job) -> ReportKind {
        self.complete_with(job, score(80.0)).await
    }

    pub(crate) async fn fail(&self, job: &Job, text: &str) -> ReportKind {
        let result = Err((FailureReason::InputInvalid, text.to_owned()));
        (&self.report(Report { job: job.id, attempt: Some(job.attempt), result }).await).into()
    }

    /// Reports a failure with a reason.
    pub(crate) async fn fail_with(&self, job: &Job, reason: FailureReason, text: &str) -> ReportKind {
        let result = Err((reason, text.to_owned()));
        (&self.report(Report { job: job.id, attempt: Some(job.attempt), result }).await).into()
    }

    /// Submits a job, claims it and fails it.
    pub(crate) async fn fails_one(&self, reason: FailureReason) -> Job {
        let taken = self.holds(super::build::job()).await;
        assert_eq!(self.fail_with(&taken, reason, "broken").await, ReportKind::Moved);
        taken
    }

    pub(crate) async fn release(&self, job: &Job) -> Released {
        let store = &self.queue.store;
        store.release(&self.queue.tenant, &self.who, job.id, job.attempt, "shutting down").await.unwrap()
    }

    pub(crate) async fn heartbeat_with(&self, heartbeat: Heartbeat) -> Option<HeartbeatReply> {
        self.queue.store.heartbeat(&self.queue.tenant, &self.who, heartbeat).await.unwrap()
    }

    /// A heartbeat that names these jobs.
    pub(crate) async fn heartbeat(&self, running: &[JobId]) -> Option<HeartbeatReply> {
        self.heartbeat_with(Heartbeat { running: running.to_vec(), progress: vec![] }).await
    }

    /// A heartbeat with progress of one job.
    pub(crate) async fn progress(&self, job: &Job, done: u64, total: u64) -> Option<HeartbeatReply> {
        let progress = vec![(job.id, job.attempt, Progress { done, total })];
        self.heartbeat_with(Heartbeat { running: vec![job.id], progress }).await
    }

    /// Claims a job; submits this one if there is none.
    pub(crate) async fn take_or(&self, job: super::build::JobBuilder) -> Job {
        match self.claim().await {
            Claim::Job(job) => *job,
            _ => self.holds(job).await,
        }
    }

    /// Submits and claims a job.
    pub(crate) async fn holds(&self, job: super::build::JobBuilder) -> Job {
        let id = self.queue.submit(job).await;
        let taken = self.take().await;
        assert_eq!(taken.id, id, "the only job that fits");
        taken
    }
}
