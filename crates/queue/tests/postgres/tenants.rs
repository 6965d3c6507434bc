//! Row-level security separates tenants, whatever a statement says.

use vmafx_job::TenantLimits;
use vmafx_queue::Store as _;

use crate::support::{Raw, cycle, database, job, node, open, tenant};

const TABLES: [&str; 7] =
    ["jobs", "job_attempts", "node_faults", "node_sessions", "samples", "samples_removed", "tenant_usage"];

#[tokio::test]
async fn the_role_of_the_store_sees_nothing_unless_it_says_for_whom() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let who = store.register(&whose, node("n"), &TenantLimits::default()).await.unwrap();
    cycle(&*store, &whose, &who).await;

    let raw = Raw::connect(database.dsn()).await;
    for table in TABLES {
        assert_eq!(raw.number(&format!("SELECT count(*) FROM vmafx.{table}")).await, 0, "{table}");
    }
    raw.run("SET vmafx.tenant_id = 'acme'").await;
    for table in ["jobs", "job_attempts", "node_sessions"] {
        assert_eq!(raw.number(&format!("SELECT count(*) FROM vmafx.{table}")).await, 1, "{table}");
    }
}

#[tokio::test]
async fn one_tenant_cannot_see_cancel_or_report_anothers_job_even_by_hand() {
    let database = database().await;
    let store = open(&database).await;
    let id = store.submit(&tenant("acme"), job(""), &TenantLimits::default()).await.unwrap().id;
    let who = store.register(&tenant("acme"), node("n"), &TenantLimits::default()).await.unwrap();
    store.claim(&tenant("acme"), &who, &[], None, &TenantLimits::default()).await.unwrap();
    let before = store.job(&tenant("acme"), id).await.unwrap();

    let raw = Raw::connect(database.dsn()).await;
    raw.run("SET vmafx.tenant_id = 'other'").await;
    assert_eq!(raw.number(&format!("SELECT count(*) FROM vmafx.jobs WHERE id = '{id}'")).await, 0);
    for statement in [
        "UPDATE vmafx.jobs SET status = 'cancelled', lease_session = NULL, lease_expires_at = NULL, finished_at = 1",
        "UPDATE vmafx.jobs SET status = 'completed', score = 1, features = '{}', finished_at = 1",
        "UPDATE vmafx.job_attempts SET ended_at = 1, outcome = 'completed'",
        "DELETE FROM vmafx.node_sessions",
        "DELETE FROM vmafx.jobs",
    ] {
        assert_eq!(raw.client.execute(statement, &[]).await.unwrap(), 0, "{statement}");
    }
    let theirs = raw.client.execute(
        "INSERT INTO vmafx.samples (tenant_id, job_id, features, label, node_labels, created_at)
         VALUES ('acme', gen_random_uuid(), '{}', 1, '{}', 1)",
        &[],
    );
    let refused = theirs.await.unwrap_err();
    let refused = refused.as_db_error().unwrap().message();
    assert_eq!(refused, "new row violates row-level security policy for table \"samples\"");
    assert_eq!(store.job(&tenant("acme"), id).await.unwrap(), before);
}

#[tokio::test]
async fn every_table_with_a_tenant_has_a_policy_that_holds_for_its_owner() {
    let database = database().await;
    open(&database).await;
    let raw = Raw::connect(database.superuser_dsn()).await;
    let unguarded = "
        SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'vmafx'::regnamespace AND c.relkind = 'r' AND a.attname = 'tenant_id'
            AND NOT (c.relrowsecurity AND c.relforcerowsecurity)";
    assert_eq!(raw.number(unguarded).await, 0);
    let guarded = "
        SELECT count(*) FROM pg_class WHERE relnamespace = 'vmafx'::regnamespace AND relforcerowsecurity";
    assert_eq!(raw.number(guarded).await, i64::try_from(TABLES.len()).unwrap());
}

#[tokio::test]
async fn the_tenant_of_one_transaction_is_not_that_of_the_next() {
    let database = database().await;
    let options = vmafx_queue::postgres::Options {
        connections: 2,
        ..vmafx_queue::postgres::Options::new(database.dsn())
    };
    let store = vmafx_queue::postgres::PostgresStore::connect(options).await.unwrap();
    let id = store.submit(&tenant("acme"), job(""), &TenantLimits::default()).await.unwrap().id;
    for _ in 0..10 {
        store.sweep().await.unwrap();
        assert!(store.job(&tenant("acme"), id).await.unwrap().is_some());
        assert_eq!(store.job(&tenant("other"), id).await.unwrap(), None);
        assert!(store.stats().await.unwrap().iter().all(|stats| stats.tenant == tenant("acme")));
    }
}
