//! A clock that is set: unfinished jobs keep their age and what is left until their deadlines and back-offs.

use std::time::Duration;

use vmafx_job::FailureReason;
use vmafx_queue::job::{DeadlineUpdate, JobUpdate};
use vmafx_queue::store::{Pruned, Retention};
use vmafx_queue::transition::State;

use crate::support::build::{job, seconds};
use crate::support::fixture::{Fixture, ids};
use crate::support::node::TestNode;

const STEP: Duration = Duration::from_mins(10);

/// A waiting and a running job with 60 seconds each, of which 5 have passed when `step` sets the clock. Neither may fail
/// before its 60 seconds have passed, and both fail then.
async fn deadlines_end_in_time(q: Fixture, step: impl FnOnce(&Fixture)) {
    let node = q.node("n").await;
    let running = node.holds(job().deadline(seconds(60))).await;
    let waiting = q.submit(job().backend("hip").deadline(seconds(60))).await;
    q.pass(seconds(5), &[&node]).await;
    step(&q);
    assert_eq!(q.sweep().await.failed, []);
    assert_eq!(keep_running(&q, &node, running.id, seconds(50)).await, []);
    for id in [running.id, waiting] {
        let job = q.job(id).await;
        assert_eq!(job.deadline_at.unwrap().since(job.created_at), seconds(60), "what a client computes");
        assert_eq!(q.now().since(job.created_at), seconds(55), "the age of a job is the time that passed");
    }
    assert_eq!(keep_running(&q, &node, running.id, seconds(5)).await, [running.id, waiting]);
    let over = q.job(waiting).await;
    assert_eq!((over.state, over.failure_reason), (State::Failed, FailureReason::DeadlineExceeded));
    assert_eq!(over.error, "the deadline has passed: the job was not finished 60s after its submission");
}

/// Lets time pass while the node holds its job. Returns the jobs that failed.
async fn keep_running(
    q: &Fixture,
    node: &TestNode,
    held: vmafx_queue::JobId,
    length: Duration,
) -> Vec<vmafx_queue::JobId> {
    let mut failed = Vec::new();
    for _ in 0..length.as_secs() / 5 {
        node.heartbeat(&[held]).await;
        failed.extend(ids(&q.pass(seconds(5), &[node]).await.failed));
    }
    failed
}

pub(crate) async fn a_step_ahead_fails_no_job_before_its_time(q: Fixture) {
    deadlines_end_in_time(q, |q| q.clock.set_ahead(STEP)).await;
}

pub(crate) async fn a_step_back_lets_deadlines_end_in_time(q: Fixture) {
    deadlines_end_in_time(q, |q| q.clock.turn_back(STEP)).await;
}

pub(crate) async fn a_deadline_that_is_changed_after_a_step_counts_from_the_submission(q: Fixture) {
    let id = q.submit(job().deadline(seconds(60))).await;
    q.clock.set_ahead(STEP);
    q.sweep().await;
    let same = JobUpdate { deadline: Some(DeadlineUpdate::After(seconds(60))), ..JobUpdate::default() };
    assert!(!q.updated(id, same).await.changed);
    let longer = JobUpdate { deadline: Some(DeadlineUpdate::After(seconds(90))), ..JobUpdate::default() };
    assert_eq!(q.updated(id, longer).await.job.deadline_at, Some(q.now() + seconds(90)));
}

pub(crate) async fn a_step_neither_shortens_nor_lengthens_a_backoff(q: Fixture) {
    for ahead in [true, false] {
        let node = q.node("n").await;
        let taken = node.holds(job()).await;
        q.lose_leases(&[&node]).await;
        if ahead {
            q.clock.set_ahead(STEP);
        } else {
            q.clock.turn_back(STEP);
        }
        q.sweep().await;
        let end = q.job(taken.id).await.available_at.unwrap();
        assert_eq!(end, q.now() + q.policy().backoff_base, "ahead: {ahead}");
        assert!(node.has_nothing().await);
        q.pass(q.policy().backoff_base, &[&node]).await;
        assert_eq!(node.take_all().await, [taken.id]);
        q.cancelled(taken.id, "").await;
    }
}

pub(crate) async fn a_job_of_an_earlier_start_loses_no_time(q: Fixture) {
    let id = q.submit(job().deadline(seconds(60))).await;
    // The clock was right when the job was stored, is wrong at the start, and is corrected.
    q.clock.set_ahead(seconds(30));
    let q = q.reopened().await;
    q.sweep().await;
    q.clock.turn_back(seconds(30));
    q.sweep().await;
    assert_eq!(q.job(id).await.deadline_at, Some(q.now() + seconds(60)));
}

pub(crate) async fn a_corrected_clock_moves_no_job_into_the_future(q: Fixture) {
    let id = q.submit(job().deadline(seconds(60))).await;
    // A machine without a battery starts in the past.
    q.clock.turn_back(Duration::from_hours(24 * 365 * 50));
    let q = q.reopened().await;
    q.sweep().await;
    q.clock.set_ahead(Duration::from_hours(24 * 365 * 50));
    q.sweep().await;
    assert_eq!(q.job(id).await.deadline_at, Some(q.now() + seconds(60)));
}

pub(crate) async fn a_job_without_a_deadline_has_none_after_a_step(q: Fixture) {
    let id = q.submit(job()).await;
    q.clock.set_ahead(STEP);
    q.sweep().await;
    assert_eq!(q.job(id).await.deadline_at, None);
}

pub(crate) async fn a_job_without_a_deadline_that_can_be_reached_survives_a_step(q: Fixture) {
    let id = q.submit(job().deadline(Duration::MAX)).await;
    for _ in 0..2 {
        q.clock.set_ahead(STEP);
        q.sweep().await;
    }
    assert_eq!(q.job(id).await.state, State::Pending);
}

pub(crate) async fn a_step_ahead_removes_no_fresh_result(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().label(50.0)).await;
    node.complete(&taken).await;
    let day = Duration::from_hours(24);
    let keep = Retention { jobs_for: day, jobs: 1000, samples_for: day, samples: 1000, batch: 1000 };
    q.clock.set_ahead(Duration::from_hours(24 * 365));
    q.sweep().await;
    assert_eq!(q.store.prune(&keep).await.unwrap(), Pruned::default());
    q.clock.advance(day + seconds(1));
    assert_eq!(q.store.prune(&keep).await.unwrap(), Pruned { jobs: 1, samples: 1 });
}
