//! Outages of the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use vmafx_job::TenantLimits;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::postgres::PostgresStore;
use vmafx_queue::store::{Filter, Page, Reported};
use vmafx_queue::transition::State;
use vmafx_queue::{IdempotencyKey, JobId, Store as _, StoreError, StoreResult, TenantId};
use vmafx_testkit::postgres::{PostgresServer, ShutdownMode};
use vmafx_testkit::wait;

use crate::support::{done, job, node, open, take, tenant};

const SOON: Duration = Duration::from_secs(30);

/// Retries until the store answers.
async fn retry<T, F, Fut>(mut what: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = StoreResult<T>>,
{
    let said = wait::until(SOON, "an answer", || {
        let answer = what();
        async move {
            match answer.await {
                Err(StoreError::Unavailable(error)) => Err(error),
                other => Ok(other),
            }
        }
    });
    said.await.unwrap().unwrap()
}

async fn submitter(
    store: Arc<PostgresStore>,
    whose: TenantId,
    name: usize,
    stop: Arc<AtomicBool>,
) -> Vec<JobId> {
    let mut acknowledged = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let mut new = job("cpu");
        new.key = Some(IdempotencyKey::new(&format!("{name}/{}", acknowledged.len())).unwrap());
        let submitted = retry(|| store.submit(&whose, new.clone(), &TenantLimits::DEFAULT)).await;
        acknowledged.push(submitted.id);
    }
    acknowledged
}

/// Works until no job is left. Returns the jobs that its own reports completed.
async fn worker(
    store: Arc<PostgresStore>,
    whose: TenantId,
    name: usize,
    last: Arc<AtomicBool>,
) -> Vec<JobId> {
    let who = retry(|| store.register(&whose, node(&format!("n{name}")), &TenantLimits::DEFAULT)).await;
    let mut reported = Vec::new();
    loop {
        let no_more_to_come = last.load(Ordering::Relaxed);
        // A claim whose answer is lost leaves a running job that no heartbeat names and no report ends. The test
        // finds it at the end.
        let Some(taken) = retry(|| take(&*store, &whose, &who)).await else {
            if no_more_to_come {
                return reported;
            }
            tokio::task::yield_now().await;
            continue;
        };
        match retry(|| store.report(&whose, &who, done(&taken))).await {
            Reported::Moved { .. } | Reported::Repeated => reported.push(taken.id),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_in_the_middle_of_traffic_loses_nothing_that_was_acknowledged() {
    let server = PostgresServer::start().await.unwrap();
    let database = server.database().await.unwrap();
    let stores = [open(&database).await, open(&database).await];
    let whose = tenant("acme");
    let (stop, last) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (mut submitters, mut workers) = (JoinSet::new(), JoinSet::new());
    for number in 0..6 {
        let store = stores[number % 2].clone();
        submitters.spawn(submitter(store.clone(), whose.clone(), number, stop.clone()));
        workers.spawn(worker(store, whose.clone(), number, last.clone()));
    }
    let completed = async || {
        let filter = Filter { states: vec![State::Completed], ..Filter::default() };
        let page = Page { after: None, limit: 100_000, newest_first: false };
        retry(|| stores[0].jobs(&whose, &filter, &page)).await
    };
    for mode in [ShutdownMode::Fast, ShutdownMode::Immediate, ShutdownMode::Immediate] {
        let before = completed().await.len();
        let going = async || completed().await.len() > before + 30;
        wait::until(SOON, "traffic", going).await.unwrap();
        server.restart(mode).await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let acknowledged: BTreeSet<JobId> = submitters.join_all().await.into_iter().flatten().collect();
    last.store(true, Ordering::Relaxed);
    let mut reports = BTreeMap::<JobId, u32>::new();
    for id in workers.join_all().await.into_iter().flatten() {
        *reports.entry(id).or_default() += 1;
    }
    assert!(reports.values().all(|times| *times == 1), "a job was finished twice");

    let page = Page { after: None, limit: 100_000, newest_first: false };
    let all = stores[1].jobs(&whose, &Filter::default(), &page).await.unwrap();
    let found: BTreeSet<JobId> = all.iter().map(|job| job.id).collect();
    assert_eq!(found, acknowledged, "every acknowledged submission is there once, and nothing else is");
    for job in &all {
        let attempts = stores[1].attempts(&whose, job.id).await.unwrap();
        let completed =
            attempts.iter().filter(|it| matches!(it.ended, Some((_, AttemptOutcome::Completed)))).count();
        let expected = match job.state {
            State::Completed => 1,
            // The answer to the claim was lost in the restart; its lease will expire.
            State::Running => 0,
            other => panic!("{} is {other:?}", job.id),
        };
        assert_eq!(completed, expected, "{}", job.id);
        assert_eq!(reports.contains_key(&job.id), job.state == State::Completed, "{}", job.id);
    }
    let orphans = all.iter().filter(|job| job.state == State::Running).count();
    assert!(orphans <= 3 * 6, "more running jobs than claims in flight at a restart: {orphans}");
}

#[tokio::test]
async fn a_read_after_a_restart_is_answered_without_an_error() {
    let server = PostgresServer::start().await.unwrap();
    let database = server.database().await.unwrap();
    let store = open(&database).await;
    let whose = tenant("acme");
    let id = store.submit(&whose, job(""), &TenantLimits::DEFAULT).await.unwrap().id;
    server.restart(ShutdownMode::Fast).await.unwrap();
    assert!(store.job(&whose, id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_server_that_is_gone_is_an_error_and_not_a_wait() {
    let server = PostgresServer::start().await.unwrap();
    let database = server.database().await.unwrap();
    let store = open(&database).await;
    let whose = tenant("acme");
    drop(server);
    let gone = store.submit(&whose, job(""), &TenantLimits::DEFAULT).await;
    assert!(matches!(gone, Err(StoreError::Unavailable(_))), "{gone:?}");
    assert!(matches!(store.ready().await, Err(StoreError::Unavailable(_))));
    store.close().await;
    assert!(matches!(store.ready().await, Err(StoreError::Closed)));
}
