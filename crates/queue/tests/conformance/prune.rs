//! Retention.

use std::time::Duration;

use vmafx_queue::store::{Filter, Pruned, Retention};
use vmafx_queue::transition::State;
use vmafx_queue::{JobId, StoreError};

use crate::support::build::{job, seconds};
use crate::support::fixture::{Fixture, ids};

const EVERYTHING: Retention = Retention {
    jobs_for: Duration::from_hours(24 * 365),
    jobs: u64::MAX >> 1,
    samples_for: Duration::from_hours(24 * 365),
    samples: u64::MAX >> 1,
    batch: 1000,
};

const NOTHING: Retention =
    Retention { jobs_for: Duration::ZERO, jobs: 0, samples_for: Duration::ZERO, samples: 0, batch: 1000 };

/// Completes labelled jobs, ten seconds apart.
async fn finished<const N: usize>(q: &Fixture) -> [JobId; N] {
    let node = q.node("n").await;
    let mut done = Vec::new();
    for _ in 0..N {
        let taken = node.holds(job().label(50.0)).await;
        node.complete(&taken).await;
        done.push(taken.id);
        q.clock.advance(seconds(10));
    }
    done.try_into().unwrap()
}

async fn prune(q: &Fixture, keep: Retention) -> Pruned {
    q.store.prune(&keep).await.unwrap()
}

pub(crate) async fn what_is_young_and_few_is_kept(q: Fixture) {
    let done = finished::<3>(&q).await;
    assert_eq!(prune(&q, EVERYTHING).await, Pruned::default());
    assert_eq!(ids(&q.list(&Filter::default()).await), done);
    assert_eq!(q.all_samples().await.len(), 3);
}

pub(crate) async fn old_jobs_are_removed_with_their_attempts(q: Fixture) {
    let [old, older_than_enough, young] = finished::<3>(&q).await;
    // The jobs finished 30, 20 and 10 seconds ago.
    let keep = Retention { jobs_for: seconds(15), ..EVERYTHING };
    assert_eq!(prune(&q, keep).await, Pruned { jobs: 2, samples: 0 });
    assert_eq!(ids(&q.list(&Filter::default()).await), [young]);
    for gone in [old, older_than_enough] {
        assert_eq!(q.store.job(&q.tenant, gone).await.unwrap(), None);
        assert_eq!(q.attempts(gone).await, []);
    }
    assert_eq!(q.attempts(young).await.len(), 1);
}

pub(crate) async fn age_counts_from_the_end_and_not_from_the_beginning(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.clock.advance(seconds(50));
    node.complete(&taken).await;
    q.clock.advance(seconds(10));
    assert_eq!(prune(&q, Retention { jobs_for: seconds(20), ..EVERYTHING }).await, Pruned::default());
}

pub(crate) async fn of_too_many_jobs_the_ones_that_ended_last_are_kept(q: Fixture) {
    let node = q.node("n").await;
    let (first, second) = (node.holds(job()).await, node.holds(job()).await);
    let third = node.holds(job()).await;
    for job in [&second, &first, &third] {
        q.clock.advance(seconds(1));
        node.complete(job).await;
    }
    assert_eq!(prune(&q, Retention { jobs: 2, ..EVERYTHING }).await, Pruned { jobs: 1, samples: 0 });
    assert_eq!(q.store.job(&q.tenant, second.id).await.unwrap(), None);
    assert_eq!(q.list(&Filter::default()).await.len(), 2);
}

pub(crate) async fn every_tenant_is_counted_apart(q: Fixture) {
    finished::<2>(&q).await;
    finished::<3>(&q.of("other")).await;
    let keep = Retention { jobs: 2, samples: 2, ..EVERYTHING };
    assert_eq!(prune(&q, keep).await, Pruned { jobs: 1, samples: 1 });
    assert_eq!(q.list(&Filter::default()).await.len(), 2);
    assert_eq!(q.of("other").list(&Filter::default()).await.len(), 2);
}

pub(crate) async fn a_job_that_is_not_over_is_never_removed(q: Fixture) {
    let node = q.node("n").await;
    let lost = node.holds(job()).await.id;
    q.lose_leases(&[&node]).await;
    let running = node.holds(job()).await.id;
    let released = node.holds(job()).await;
    node.release(&released).await;
    let pending = q.submit(job().backend("hip")).await;
    q.clock.advance(Duration::from_hours(24 * 3650));
    assert_eq!(prune(&q, NOTHING).await, Pruned::default());
    for id in [lost, running, released.id, pending] {
        assert!(!q.job(id).await.state.is_final());
    }
}

pub(crate) async fn all_three_kinds_of_end_are_removed(q: Fixture) {
    let node = q.node("n").await;
    let completed = node.holds(job()).await;
    node.complete(&completed).await;
    let failed = node.holds(job()).await;
    node.fail(&failed, "x").await;
    let cancelled = q.submit(job()).await;
    q.cancelled(cancelled, "x").await;
    q.clock.advance(seconds(1));
    assert_eq!(prune(&q, NOTHING).await.jobs, 3);
    assert_eq!(q.list(&Filter::default()).await, []);
}

pub(crate) async fn a_batch_is_not_exceeded_and_the_rest_follows(q: Fixture) {
    let done = finished::<5>(&q).await;
    let keep = Retention { batch: 2, ..NOTHING };
    assert_eq!(prune(&q, keep).await, Pruned { jobs: 2, samples: 2 });
    assert_eq!(ids(&q.list(&Filter::default()).await), done[2..], "the oldest go first");
    assert_eq!(prune(&q, keep).await, Pruned { jobs: 2, samples: 2 });
    assert_eq!(prune(&q, keep).await, Pruned { jobs: 1, samples: 1 });
    assert_eq!(prune(&q, keep).await, Pruned::default());
}

pub(crate) async fn samples_are_kept_by_their_own_age_and_number(q: Fixture) {
    let done = finished::<4>(&q).await;
    // The samples were created 40, 30, 20 and 10 seconds ago.
    let keep = Retention { samples_for: seconds(35), ..EVERYTHING };
    assert_eq!(prune(&q, keep).await, Pruned { jobs: 0, samples: 1 });
    assert_eq!(prune(&q, Retention { samples: 2, ..EVERYTHING }).await, Pruned { jobs: 0, samples: 1 });
    let kept: Vec<_> = q.all_samples().await.iter().map(|sample| sample.job).collect();
    assert_eq!(kept, done[2..]);
}

pub(crate) async fn a_sample_outlives_its_job(q: Fixture) {
    let [id] = finished::<1>(&q).await;
    let before = q.all_samples().await;
    let keep = Retention { jobs_for: Duration::ZERO, jobs: 0, ..EVERYTHING };
    assert_eq!(prune(&q, keep).await.jobs, 1);
    assert_eq!(q.store.job(&q.tenant, id).await.unwrap(), None);
    assert_eq!(q.all_samples().await, before);
}

pub(crate) async fn a_cursor_is_good_after_what_it_saw_was_removed(q: Fixture) {
    let changes = q.position().await;
    finished::<2>(&q).await;
    let (later, sampled) = (q.position().await, q.samples("", 10).await.next);
    prune(&q, NOTHING).await;
    assert_eq!(q.changed_ids(&changes).await, []);
    let [id] = finished::<1>(&q).await;
    assert_eq!(q.changed_ids(&later).await, [id]);
    assert_eq!(q.samples(&sampled, 10).await.samples.len(), 1);
}

pub(crate) async fn a_reader_that_starts_after_all_were_removed_can_continue(q: Fixture) {
    finished::<2>(&q).await;
    prune(&q, NOTHING).await;
    let begun = q.samples("", 10).await;
    assert_eq!(begun.samples.len(), 0);
    assert_eq!(q.samples(&begun.next, 10).await.samples.len(), 0);
    finished::<1>(&q).await;
    assert_eq!(q.samples(&begun.next, 10).await.samples.len(), 1);
}

pub(crate) async fn a_reader_that_missed_samples_is_told_and_may_begin_again(q: Fixture) {
    let done = finished::<4>(&q).await;
    let cursors: Vec<_> = q.samples("", 10).await.samples.into_iter().map(|(cursor, _)| cursor).collect();
    prune(&q, Retention { samples: 2, ..EVERYTHING }).await;
    let missed = q.store.samples(&q.tenant, &cursors[0], 10).await;
    assert!(matches!(missed, Err(StoreError::Cursor)), "{missed:?}");
    assert_eq!(
        q.samples(&cursors[1], 10).await.samples.len(),
        2,
        "the cursor lies after every removed sample"
    );
    let kept: Vec<_> = q.all_samples().await.iter().map(|sample| sample.job).collect();
    assert_eq!(kept, done[2..]);
}

pub(crate) async fn the_key_of_a_removed_job_can_be_used_again(q: Fixture) {
    let id = q.submit(job().key("k")).await;
    q.cancelled(id, "x").await;
    q.clock.advance(seconds(1));
    prune(&q, NOTHING).await;
    let again = q.submitted(job().key("k")).await;
    assert!(!again.deduplicated);
    assert_eq!(q.job(again.id).await.state, State::Pending);
}
