//! Claims with several controllers and with a long queue.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::task::JoinSet;
use vmafx_job::CancelCause;
use vmafx_job::TenantLimits;
use vmafx_queue::job::{Label, Labeller, Origin};
use vmafx_queue::node::{Credentials, Heartbeat};
use vmafx_queue::postgres::PostgresStore;
use vmafx_queue::store::{Filter, LabelTarget, Page, Reported};
use vmafx_queue::{IdempotencyKey, JobId, NewJob, Store as _, TenantId};
use vmafx_testkit::wait;

use crate::support::{Raw, cycle, database, done, job, node, open, take, tenant};

const SOON: Duration = Duration::from_mins(1);
const FIRST: Page = Page { after: None, limit: 10, newest_first: false };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_two_controllers_hand_out_the_same_job_and_none_is_left() {
    let database = database().await;
    let stores = [open(&database).await, open(&database).await];
    let whose = tenant("acme");
    let mut submitting = JoinSet::new();
    for number in 0..300_usize {
        let (store, whose) = (stores[number % 2].clone(), whose.clone());
        let backend = ["", "cpu"][number / 2 % 2];
        submitting.spawn(async move {
            store.submit(&whose, job(backend), &TenantLimits::default()).await.unwrap().id
        });
    }
    let all: BTreeSet<JobId> = submitting.join_all().await.into_iter().collect();
    let mut nodes = JoinSet::new();
    for number in 0..40 {
        let (store, whose) = (stores[number % 2].clone(), whose.clone());
        nodes.spawn(async move {
            let who =
                store.register(&whose, node(&format!("n{number}")), &TenantLimits::default()).await.unwrap();
            let mut taken = Vec::new();
            while let Some(job) = take(&*store, &whose, &who).await.unwrap() {
                taken.push(job.id);
            }
            taken
        });
    }
    let taken: Vec<JobId> = nodes.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken.len(), all.len(), "each job is claimed once");
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_after_a_submission_never_finds_nothing() {
    let database = database().await;
    let stores = [open(&database).await, open(&database).await];
    let whose = tenant("acme");
    let mut callers = JoinSet::new();
    for number in 0..24 {
        let (store, whose) = (stores[number % 2].clone(), whose.clone());
        callers.spawn(async move {
            let who =
                store.register(&whose, node(&format!("n{number}")), &TenantLimits::default()).await.unwrap();
            let mut taken = Vec::new();
            for _ in 0..25 {
                taken.push(cycle(&*store, &whose, &who).await);
            }
            taken
        });
    }
    let taken: Vec<JobId> = callers.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 24 * 25);
}

#[tokio::test]
async fn one_value_that_the_server_refuses_costs_the_others_nothing() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    // Longer than an index entry may be, and not compressible.
    let noise: String = (0..400).map(|_| uuid::Uuid::new_v4().to_string()).collect();
    let mut submitting = JoinSet::new();
    for number in 0..20 {
        let (store, whose) = (store.clone(), whose.clone());
        let mut new = job("cpu");
        new.origin = (number == 7).then(|| Origin { uid: noise.clone(), ..Origin::default() });
        submitting.spawn(async move { store.submit(&whose, new, &TenantLimits::default()).await.is_ok() });
    }
    let stored = submitting.join_all().await;
    assert_eq!(stored.iter().filter(|stored| **stored).count(), 19);
    assert_eq!(store.stats().await.unwrap()[0].pending, 19);
}

#[tokio::test]
async fn a_character_that_the_server_has_not_is_replaced() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let id = store.submit(&whose, NewJob { ..job("") }, &TenantLimits::default()).await.unwrap().id;
    let cancelled = store.cancel(&whose, id, CancelCause::Requested, "a\0b").await.unwrap().unwrap();
    assert_eq!(cancelled.job.error, "cancelled: a\u{fffd}b");
}

/// Rows read so far, with and without an index.
const READ: &str = "
    SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ('jobs', 'job_attempts'))::bigint
        + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('jobs', 'job_attempts'))::bigint";

/// The usual operations of nodes and submitters.
async fn day(store: &PostgresStore, whose: &TenantId, who: &Credentials, name: &str) {
    let key = IdempotencyKey::new(name).unwrap();
    let new = NewJob { key: Some(key.clone()), ..job("cpu") };
    for deduplicated in [false, true] {
        assert_eq!(
            store.submit(whose, new.clone(), &TenantLimits::default()).await.unwrap().deduplicated,
            deduplicated
        );
    }
    let taken = take(store, whose, who).await.unwrap().unwrap();
    store.heartbeat(whose, who, Heartbeat { running: vec![taken.id], progress: vec![] }).await.unwrap();
    store.release(whose, who, taken.id, taken.attempt, "").await.unwrap();
    let taken = take(store, whose, who).await.unwrap().unwrap();
    store.report(whose, who, done(&taken)).await.unwrap();
    assert_eq!(store.report(whose, who, done(&taken)).await.unwrap(), Reported::Repeated);
    store
        .label(
            whose,
            &LabelTarget::Key { key, submitter: String::new() },
            Label::percent(1.0).unwrap(),
            &Labeller::default(),
        )
        .await
        .unwrap();
    let cancelled = store.submit(whose, job("cuda"), &TenantLimits::default()).await.unwrap().id;
    store.cancel(whose, cancelled, CancelCause::Requested, "").await.unwrap();
    assert!(store.job(whose, cancelled).await.unwrap().is_some());
    store.jobs(whose, &Filter { ids: vec![cancelled], ..Filter::default() }, &FIRST).await.unwrap();
    assert_eq!(take(store, whose, who).await.unwrap(), None);
    store.nodes(whose).await.unwrap();
}

#[tokio::test]
async fn behind_many_jobs_that_nobody_serves_everything_reads_a_handful_of_rows() {
    let database = database().await;
    // Sequential calls use one connection, so that every plan is made while the queue is empty.
    let store = open(&database).await;
    let whose = tenant("acme");
    let who = store.register(&whose, node("n"), &TenantLimits::default()).await.unwrap();
    for number in 0..10 {
        day(&store, &whose, &who, &format!("early {number}")).await;
    }
    let raw = Raw::connect(database.dsn()).await;
    raw.run(
        "SET vmafx.tenant_id = 'acme';
         INSERT INTO vmafx.jobs (id, tenant_id, status, backend, priority, created_at, updated_at, spec)
         SELECT gen_random_uuid(), 'acme', 'pending', 'cuda', 9, 1, 1, '{}' FROM generate_series(1, 20000) n;
         INSERT INTO vmafx.jobs
             (id, tenant_id, status, ready, available_at, backend, priority, created_at, updated_at, spec)
         SELECT gen_random_uuid(), 'acme', 'pending', false, 9000000000000, 'cpu', 9, 1, 1, '{}'
         FROM generate_series(1, 20000) n",
    )
    .await;
    let counters = Raw::connect(database.superuser_dsn()).await;
    // A connection reports its statistics after a second of idleness.
    let settled = async || {
        let before = counters.number(READ).await;
        counters.run("SELECT pg_sleep(1.2)").await;
        let after = counters.number(READ).await;
        if before == after { Ok(after) } else { Err(format!("{before} then {after}")) }
    };
    let before = wait::until(SOON, "the counters to stand still", settled).await.unwrap();
    for number in 0..10 {
        day(&store, &whose, &who, &format!("late {number}")).await;
    }
    let after = wait::until(SOON, "the counters to stand still", settled).await.unwrap();
    let by_index = "SELECT string_agg(indexrelname || ' ' || idx_tup_read, ', ') FROM pg_stat_user_indexes";
    let by_index: String = counters.client.query_one(by_index, &[]).await.unwrap().get(0);
    assert!(after - before < 5_000, "{} rows in ten rounds: {by_index}", after - before);
}

/// Rows of the tables that claims and reports use, read so far.
const READ_BY_NODES: &str = "
    SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables
    WHERE relname IN ('jobs', 'job_attempts', 'node_sessions', 'node_faults', 'tenant_usage')";

/// Attempts that began and ended.
const CYCLES: &str =
    "SELECT least(n_tup_ins, n_tup_upd) FROM pg_stat_user_tables WHERE relname = 'job_attempts'";

#[tokio::test]
async fn a_claim_reads_no_other_session_and_no_backlog_whatever_the_statistics_are() {
    let database = database().await;
    let whose = tenant("acme");
    let raw = Raw::connect(database.dsn()).await;
    let counters = Raw::connect(database.superuser_dsn()).await;
    // A connection reports its statistics some seconds late, so they are read when they contain all cycles.
    let read_after = async |cycles: i64| {
        let counted = counters.number(CYCLES).await;
        if counted < cycles {
            Err(format!("{counted} of {cycles} cycles"))
        } else {
            Ok(counters.number(READ_BY_NODES).await)
        }
    };
    let mut cycles = 120;
    let store = open(&database).await;
    let who = store.register(&whose, node("n"), &TenantLimits::default()).await.unwrap();
    // Statements are planned for a queue of finished jobs.
    for _ in 0..100 {
        cycle(&*store, &whose, &who).await;
    }
    counters.run("VACUUM ANALYZE vmafx.jobs").await;
    for _ in 0..20 {
        cycle(&*store, &whose, &who).await;
    }
    raw.run(
        "SET vmafx.tenant_id = 'acme';
         INSERT INTO vmafx.node_sessions
         SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'node_id', 'other ' || n))).*
         FROM vmafx.node_sessions s, generate_series(1, 1000) n",
    )
    .await;
    for analyzed in [false, true] {
        raw.run(
            "SET vmafx.tenant_id = 'acme';
             INSERT INTO vmafx.jobs (id, tenant_id, status, backend, priority, created_at, updated_at, spec)
             SELECT gen_random_uuid(), 'acme', 'pending', 'cpu', 0, 1, 1, (SELECT spec FROM vmafx.jobs LIMIT 1)
             FROM generate_series(1, 5000) n",
        )
        .await;
        if analyzed {
            counters.run("ANALYZE vmafx.jobs, vmafx.node_sessions").await;
        }
        let before = wait::until(SOON, "the statistics", || read_after(cycles)).await.unwrap();
        for _ in 0..20 {
            let taken = take(&*store, &whose, &who).await.unwrap().unwrap();
            store.report(&whose, &who, done(&taken)).await.unwrap();
        }
        cycles += 20;
        let after = wait::until(SOON, "the statistics", || read_after(cycles)).await.unwrap();
        let read = (after - before) / 20;
        assert!(read < 100, "{read} rows for a claim and its report, analyzed: {analyzed}");
    }
}
