//! A database with a store, and direct access to the database.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};
use vmafx_job::ScoreResult;
use vmafx_job::ScoringRequest;
use vmafx_job::TenantLimits;
use vmafx_queue::node::{Capability, Credentials, NewNode, Report};
use vmafx_queue::postgres::{Options, PostgresStore};
use vmafx_queue::store::{Claim, Reported};
use vmafx_queue::{Job, JobId, NewJob, Store, StoreResult, TenantId};
use vmafx_testkit::postgres::{PostgresDatabase, PostgresServer};

pub(crate) fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

pub(crate) fn job(backend: &str) -> NewJob {
    let scoring = ScoringRequest {
        reference: "r".into(),
        distorted: "d".into(),
        backend: (!backend.is_empty()).then(|| backend.parse().unwrap()),
        ..ScoringRequest::default()
    };
    NewJob { scoring, ..NewJob::default() }
}

pub(crate) fn node(name: &str) -> NewNode {
    let capability = Capability { backends: vec!["cpu".into()], slots: 64, ..Capability::default() };
    NewNode { name: name.into(), capability, resource: None }
}

pub(crate) fn done(job: &Job) -> Report {
    let result = ScoreResult { score: 80.0, features: [("vmaf".to_owned(), 80.0)].into(), details: None };
    Report { job: job.id, attempt: Some(job.attempt), result: Ok(result) }
}

/// A database on the server that all tests share.
pub(crate) async fn database() -> PostgresDatabase {
    PostgresServer::shared().await.unwrap().database().await.unwrap()
}

pub(crate) async fn open(database: &PostgresDatabase) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::connect(Options::new(database.dsn())).await.unwrap())
}

/// A direct connection, for statements that no store would run.
pub(crate) struct Raw {
    pub(crate) client: Client,
    _driver: JoinSet<()>,
}

impl Raw {
    pub(crate) async fn connect(dsn: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(dsn, NoTls).await.unwrap();
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        Self { client, _driver: driver }
    }

    pub(crate) async fn run(&self, statements: &str) {
        self.client.batch_execute(statements).await.unwrap();
    }

    /// Runs a query that returns one number.
    pub(crate) async fn number(&self, statement: &str) -> i64 {
        self.client.query_one(statement, &[]).await.unwrap().get(0)
    }
}

pub(crate) async fn take(store: &dyn Store, whose: &TenantId, who: &Credentials) -> StoreResult<Option<Job>> {
    match store.claim(whose, who, &["cpu".to_owned()], None, &TenantLimits::default()).await? {
        Claim::Job(job) => Ok(Some(*job)),
        Claim::Nothing { .. } | Claim::PassedOver { .. } | Claim::Quarantined { .. } => Ok(None),
        other @ (Claim::NoFreeSlot | Claim::LimitReached) => panic!("{other:?}"),
        Claim::NoSession => panic!("a session was lost"),
    }
}

/// Submits, claims and reports one job.
pub(crate) async fn cycle(store: &dyn Store, whose: &TenantId, who: &Credentials) -> JobId {
    store.submit(whose, job("cpu"), &TenantLimits::default()).await.unwrap();
    let taken = take(store, whose, who).await.unwrap().unwrap();
    assert!(matches!(store.report(whose, who, done(&taken)).await.unwrap(), Reported::Moved { .. }));
    taken.id
}
