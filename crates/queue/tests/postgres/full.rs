//! A database without room: new jobs are refused, and their ends are stored where the server can.
//!
//! A trigger raises the server's own error, because no test may fill the disk of the machine.

use std::time::Duration;

use vmafx_job::TenantLimits;
use vmafx_queue::store::{Claim, Reported};
use vmafx_queue::{Store as _, StoreError};
use vmafx_testkit::wait;

use crate::support::{Raw, database, done, job, node, open, take, tenant};

const FULL: &str = "
CREATE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER no_room BEFORE INSERT ON vmafx.jobs FOR EACH STATEMENT EXECUTE FUNCTION public.no_room()";

#[tokio::test]
async fn without_room_jobs_are_refused_and_their_ends_are_stored() {
    let database = database().await;
    let store = open(&database).await;
    let whose = tenant("acme");
    let who = store.register(&whose, node("n"), &TenantLimits::default()).await.unwrap();
    for _ in 0..2 {
        store.submit(&whose, job("cpu"), &TenantLimits::default()).await.unwrap();
    }
    let running = take(&*store, &whose, &who).await.unwrap().unwrap();
    let admin = Raw::connect(database.superuser_dsn()).await;
    admin.run(FULL).await;

    let refused = store.submit(&whose, job("cpu"), &TenantLimits::default()).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Full { .. }), "{refused:?}");
    assert!(store.is_full());
    store.ready().await.unwrap();
    let claim = store.claim(&whose, &who, &["cpu".to_owned()], None, &TenantLimits::default()).await.unwrap();
    assert_eq!(claim, Claim::Nothing { next: None }, "no new work is begun");
    assert!(matches!(store.report(&whose, &who, done(&running)).await.unwrap(), Reported::Moved { .. }));

    admin.run("DROP TRIGGER no_room ON vmafx.jobs").await;
    let accepted = async || store.submit(&whose, job("cpu"), &TenantLimits::default()).await.is_ok();
    wait::until(Duration::from_secs(30), "the store to go on", accepted).await.unwrap();
    assert!(!store.is_full());
    assert!(take(&*store, &whose, &who).await.unwrap().is_some());
}
