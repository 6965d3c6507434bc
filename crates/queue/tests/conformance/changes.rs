//! The feed of changes.

use vmafx_queue::store::{Filter, StoreError};
use vmafx_queue::transition::State;

use crate::support::build::{job, seconds};
use crate::support::fixture::{Fixture, ids};

pub(crate) async fn nothing_changed_since_now(q: Fixture) {
    q.submit(job()).await;
    let cursor = q.position().await;
    let changes = q.changes(&cursor, 10).await;
    assert_eq!(changes.jobs, []);
    assert_eq!(q.changes(&changes.next, 10).await.jobs, []);
}

pub(crate) async fn every_kind_of_change_is_in_the_feed(q: Fixture) {
    use State::{Completed, Pending, Running};
    let node = q.node("n").await;
    let mut cursor = q.position().await;
    let mut states = Vec::new();
    let mut changed = async |what: &str| {
        let changes = q.changes(&cursor, 10).await;
        assert_eq!(changes.jobs.len(), 1, "{what}: {changes:?}");
        let job = changes.jobs[0].1.clone();
        assert_eq!(job, q.job(job.id).await, "{what}");
        states.push((job.state, job.revision));
        cursor = changes.next;
        assert_eq!(q.changes(&cursor, 10).await.jobs, [], "{what}");
    };
    let id = q.submit(job()).await;
    changed("submit").await;
    q.label(id, 40.0).await;
    changed("label").await;
    let first = node.take().await;
    changed("claim").await;
    node.release(&first).await;
    changed("release").await;
    node.take().await;
    changed("second claim").await;
    q.lose_leases(&[&node]).await;
    changed("loss").await;
    q.pass(seconds(5), &[&node]).await;
    let third = node.take().await;
    changed("third claim").await;
    node.complete(&third).await;
    changed("report").await;
    q.label(id, 50.0).await;
    changed("label after the end").await;

    let seen: Vec<_> = states.iter().map(|(state, _)| *state).collect();
    assert_eq!(seen, [Pending, Pending, Running, Pending, Running, Pending, Running, Completed, Completed]);
    assert!(states.is_sorted_by(|a, b| a.1 < b.1), "revisions rise: {states:?}");
}

pub(crate) async fn ends_without_a_report_are_notified(q: Fixture) {
    let node = q.node("n").await;
    let cancelled = q.submit(job().backend("hip")).await;
    let overdue = q.submit(job().backend("hip").deadline(seconds(30))).await;
    let lost = node.holds(job().lost_limit(1)).await.id;
    let cursor = q.position().await;
    q.cancelled(cancelled, "x").await;
    q.lose_leases(&[&node]).await;
    assert_eq!(q.changed_ids(&cursor).await, [cancelled, overdue, lost]);
}

pub(crate) async fn several_changes_of_a_job_are_read_as_the_last_one(q: Fixture) {
    let cursor = q.position().await;
    let node = q.node("n").await;
    let [first, second, third] = q.submit_all([job(), job(), job()]).await;
    let taken = node.take().await;
    node.complete(&taken).await;
    let changes = q.changes(&cursor, 10).await;
    let seen: Vec<_> = changes.jobs.iter().map(|(_, job)| (job.id, job.state)).collect();
    assert_eq!(seen, [(second, State::Pending), (third, State::Pending), (first, State::Completed)]);
}

pub(crate) async fn changes_come_in_pages_that_continue_where_they_ended(q: Fixture) {
    let mut cursor = q.position().await;
    let submitted = q.submit_all([job(), job(), job(), job(), job()]).await;
    let mut pages = Vec::new();
    for _ in 0..3 {
        let page = q.changes(&cursor, 2).await;
        pages.push(page.jobs.iter().map(|(_, job)| job.id).collect::<Vec<_>>());
        cursor = page.next;
    }
    assert_eq!(pages, [submitted[..2].to_vec(), submitted[2..4].to_vec(), submitted[4..].to_vec()]);
    assert_eq!(q.changed_ids(&cursor).await, []);
}

pub(crate) async fn a_reader_may_continue_after_any_change(q: Fixture) {
    let cursor = q.position().await;
    let submitted = q.submit_all([job(), job(), job()]).await;
    for (place, (cursor, _)) in q.changes(&cursor, 10).await.jobs.iter().enumerate() {
        assert_eq!(q.changed_ids(cursor).await, submitted[place + 1..]);
    }
}

pub(crate) async fn a_cursor_can_be_used_again(q: Fixture) {
    let cursor = q.position().await;
    let id = q.submit(job()).await;
    assert_eq!(q.changed_ids(&cursor).await, [id]);
    assert_eq!(q.changed_ids(&cursor).await, [id]);
}

pub(crate) async fn a_job_that_changes_between_two_pages_comes_later(q: Fixture) {
    let cursor = q.position().await;
    let [first, second, third] = q.submit_all([job(), job(), job()]).await;
    let page = q.changes(&cursor, 1).await;
    assert_eq!(page.jobs[0].1.id, first);
    q.cancelled(second, "x").await;
    q.cancelled(first, "x").await;
    assert_eq!(q.changed_ids(&page.next).await, [third, second, first]);
}

pub(crate) async fn a_cursor_survives_a_restart(q: Fixture) {
    let cursor = q.position().await;
    let id = q.submit(job()).await;
    let q = q.reopened().await;
    assert_eq!(q.changed_ids(&cursor).await, [id]);
}

pub(crate) async fn a_snapshot_and_the_changes_after_it_miss_nothing(q: Fixture) {
    let before = q.submit(job()).await;
    let cursor = q.position().await;
    let between = q.submit(job()).await;
    let snapshot = ids(&q.list(&Filter::default()).await);
    let after = q.submit(job()).await;
    assert_eq!(snapshot.len(), 2);
    assert!(snapshot.contains(&before) && snapshot.contains(&between));
    assert_eq!(q.changed_ids(&cursor).await, [between, after]);
}

pub(crate) async fn a_foreign_cursor_is_refused(q: Fixture) {
    let other = q.fresh(q.policy()).await;
    other.submit_all([job(), job(), job()]).await;
    let foreign = other.position().await;
    for cursor in [foreign.as_str(), "nonsense", "\u{1f3a5}", "99999999999999999999999", "-1", " "] {
        let answer = q.store.changes(&q.tenant, cursor, 10).await;
        assert!(matches!(answer, Err(StoreError::Cursor)), "{cursor:?}: {answer:?}");
    }
}
