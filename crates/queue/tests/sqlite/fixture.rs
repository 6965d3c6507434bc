//! A store in its own directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use vmafx_job::ScoreResult;
use vmafx_job::ScoringRequest;
use vmafx_job::TenantLimits;
use vmafx_queue::job::Label;
use vmafx_queue::node::{Capability, Credentials, NewNode, Report};
use vmafx_queue::policy::Policy;
use vmafx_queue::sqlite::{OpenError, Options, SqliteStore};
use vmafx_queue::store::{Claim, Reported};
use vmafx_queue::{Job, JobId, NewJob, Store, TenantId};

use crate::clock::TestClock;

pub(crate) const RESERVE: u64 = 1 << 20;

/// Takes back the migrations since version 6.
pub(crate) const UNDO_TO_VERSION_6: &str = "
DROP INDEX jobs_claim;
ALTER TABLE jobs DROP COLUMN claim_rank;
CREATE INDEX jobs_claim
    ON jobs (tenant, backend, priority DESC, created_at, id, available_at, avoid_node, avoid_until) WHERE ready = 1;
DROP TABLE tenant_usage;
ALTER TABLE jobs DROP COLUMN bytes;
ALTER TABLE jobs DROP COLUMN labelled_by;
ALTER TABLE samples DROP COLUMN labelled_by;
DROP INDEX jobs_key;
ALTER TABLE jobs DROP COLUMN submitter;
ALTER TABLE jobs DROP COLUMN request_digest;
CREATE UNIQUE INDEX jobs_key ON jobs (tenant, key) WHERE key IS NOT NULL;
DROP TABLE lives;
PRAGMA user_version = 6";

/// The directory, clock and tenant of a store.
pub(crate) struct Fixture {
    directory: TempDir,
    pub(crate) clock: TestClock,
    pub(crate) tenant: TenantId,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            clock: TestClock::default(),
            tenant: TenantId::new("acme").unwrap(),
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory().join("queue.db")
    }

    pub(crate) fn try_open(&self, path: PathBuf) -> Result<SqliteStore, OpenError> {
        let clock = Arc::new(self.clock.clone());
        SqliteStore::open(Options { path, policy: Policy::default(), clock, reserve: RESERVE })
    }

    pub(crate) fn open(&self) -> SqliteStore {
        self.try_open(self.file()).unwrap()
    }

    pub(crate) async fn submit(&self, store: &SqliteStore) -> JobId {
        store.submit(&self.tenant, job(), &TenantLimits::default()).await.unwrap().id
    }

    pub(crate) async fn register(&self, store: &SqliteStore) -> Credentials {
        let capability = Capability { backends: vec!["cpu".into()], slots: 1000, ..Capability::default() };
        let node = NewNode { name: "n".into(), capability, resource: None };
        store.register(&self.tenant, node, &TenantLimits::default()).await.unwrap()
    }

    pub(crate) async fn claim(&self, store: &SqliteStore, node: &Credentials) -> Option<Job> {
        match store.claim(&self.tenant, node, &["cpu".into()], None, &TenantLimits::default()).await.unwrap()
        {
            Claim::Job(job) => Some(*job),
            Claim::Nothing { .. } | Claim::PassedOver { .. } | Claim::Quarantined { .. } => None,
            other @ (Claim::NoFreeSlot | Claim::LimitReached) => panic!("{other:?}"),
            Claim::NoSession => panic!("the session is gone"),
        }
    }

    pub(crate) async fn complete(&self, store: &SqliteStore, node: &Credentials, job: &Job) -> Reported {
        let result = ScoreResult { score: 93.5, ..ScoreResult::default() };
        let report = Report { job: job.id, attempt: Some(job.attempt), result: Ok(result) };
        store.report(&self.tenant, node, report).await.unwrap()
    }
}

pub(crate) fn job() -> NewJob {
    let scoring = ScoringRequest {
        reference: "/clips/ref.y4m".into(),
        distorted: "/clips/dis.y4m".into(),
        ..ScoringRequest::default()
    };
    NewJob { scoring, label: Some(Label::percent(70.0).unwrap()), ..NewJob::default() }
}
