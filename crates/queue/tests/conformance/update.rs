//! Changes of jobs that have not finished.

use vmafx_job::{FailureReason, FrameStep, ScoringRequest};
use vmafx_queue::Job;
use vmafx_queue::job::{DeadlineUpdate, JobUpdate};
use vmafx_queue::store::Released;
use vmafx_queue::transition::State;

use crate::support::build::{job, seconds, tenant};
use crate::support::fixture::Fixture;

fn stepped(step: u32) -> ScoringRequest {
    let mut scoring = job().0.scoring;
    scoring.options.frame_step = FrameStep::try_from(step).ok();
    scoring
}

fn scoring(step: u32) -> JobUpdate {
    JobUpdate { scoring: Some(stepped(step)), ..JobUpdate::default() }
}

fn deadline(length: u64) -> JobUpdate {
    JobUpdate { deadline: Some(DeadlineUpdate::After(seconds(length))), ..JobUpdate::default() }
}

pub(crate) async fn a_waiting_job_changes_at_once_and_nothing_else_of_it(q: Fixture) {
    let id = q.submit(job().priority(1).deadline(seconds(60))).await;
    let before = q.job(id).await;
    q.clock.advance(seconds(2));
    let update = JobUpdate {
        scoring: Some(stepped(5)),
        priority: Some(-7),
        max_lost_attempts: Some(9),
        deadline: Some(DeadlineUpdate::After(seconds(30))),
    };
    let answer = q.updated(id, update).await;
    assert!(answer.changed && answer.job.revision > before.revision);
    let expected = Job {
        scoring: stepped(5),
        priority: -7,
        max_lost_attempts: 9,
        deadline_at: Some(before.created_at + seconds(30)),
        updated_at: q.now(),
        revision: answer.job.revision,
        ..before
    };
    assert_eq!(answer.job, expected);
    assert_eq!(q.job(id).await, expected);
    let never = JobUpdate { deadline: Some(DeadlineUpdate::Never), ..JobUpdate::default() };
    assert_eq!(q.updated(id, never).await.job.deadline_at, None);
    assert_eq!(q.node("n").await.take().await.scoring, stepped(5));
}

pub(crate) async fn a_changed_job_keeps_its_place(q: Fixture) {
    let [first, second, third] = q.submit_all([job(), job(), job()]).await;
    q.updated(first, scoring(2)).await;
    q.updated(third, JobUpdate { priority: Some(1), ..JobUpdate::default() }).await;
    let node = q.node("n").await;
    let mut order = Vec::new();
    for _ in 0..3 {
        order.push(node.take().await.id);
    }
    assert_eq!(order, [third, first, second]);
}

pub(crate) async fn a_running_attempt_keeps_its_request_and_the_next_one_gets_the_new(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    let answer = q.updated(taken.id, scoring(3)).await;
    assert!(answer.changed);
    assert_eq!((answer.job.scoring, answer.job.next_scoring), (taken.scoring.clone(), Some(stepped(3))));
    // A change back to what runs leaves nothing to be done.
    let back = JobUpdate { scoring: Some(taken.scoring.clone()), ..JobUpdate::default() };
    assert_eq!(q.updated(taken.id, back).await.job.next_scoring, None);
    q.updated(taken.id, scoring(4)).await;
    assert_eq!(node.release(&taken).await, Released::Moved);
    let waiting = q.job(taken.id).await;
    assert_eq!((waiting.state, waiting.scoring, waiting.next_scoring), (State::Pending, stepped(4), None));
    let again = node.take().await;
    assert_eq!((again.scoring, again.next_scoring), (stepped(4), None));
    assert_eq!(q.job(taken.id).await.scoring, stepped(4));
}

pub(crate) async fn a_lost_attempt_is_followed_by_one_with_the_new_request(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.updated(taken.id, scoring(3)).await;
    q.lose_leases(&[&node]).await;
    // A further change while it waits replaces the one before.
    q.updated(taken.id, scoring(6)).await;
    q.wait_for(taken.id, &[&node]).await;
    assert_eq!(node.take().await.scoring, stepped(6));
}

pub(crate) async fn a_job_that_ends_while_it_waits_shows_its_last_change(q: Fixture) {
    let node = q.node("n").await;
    let [released, lost] = [node.holds(job()).await, node.holds(job()).await];
    for taken in [&released, &lost] {
        q.updated(taken.id, scoring(3)).await;
    }
    node.release(&released).await;
    q.lose_leases(&[&node]).await;
    for taken in [released, lost] {
        q.cancelled(taken.id, "").await;
        assert_eq!(q.job(taken.id).await.scoring, stepped(3));
    }
}

pub(crate) async fn a_score_is_recorded_with_the_request_that_it_is_of(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    q.updated(taken.id, scoring(3)).await;
    node.complete(&taken).await;
    let done = q.job(taken.id).await;
    assert_eq!((done.state, &done.scoring, &done.next_scoring), (State::Completed, &taken.scoring, &None));
}

pub(crate) async fn a_finished_job_is_left_alone_by_an_update(q: Fixture) {
    let id = q.submit(job()).await;
    q.cancelled(id, "").await;
    let before = q.job(id).await;
    let answer = q.updated(id, deadline(5)).await;
    assert!(!answer.changed);
    assert_eq!(answer.job, before);
    assert_eq!(q.job(id).await, before);
}

pub(crate) async fn an_update_without_a_difference_changes_nothing(q: Fixture) {
    let id = q.submit(job().deadline(seconds(60))).await;
    let before = q.job(id).await;
    let same = JobUpdate {
        scoring: Some(before.scoring.clone()),
        priority: Some(before.priority),
        max_lost_attempts: Some(before.max_lost_attempts),
        deadline: Some(DeadlineUpdate::After(seconds(60))),
    };
    for update in [same, JobUpdate::default()] {
        let answer = q.updated(id, update).await;
        assert!(!answer.changed);
        assert_eq!(answer.job, before);
    }
}

pub(crate) async fn a_new_deadline_counts_from_the_submission(q: Fixture) {
    let id = q.submit(job()).await;
    q.sweep().await;
    q.pass(seconds(20), &[]).await;
    q.updated(id, deadline(10)).await;
    let failed = q.pass(seconds(1), &[]).await.failed;
    assert_eq!(
        failed.iter().map(|job| (job.id, job.failure_reason)).collect::<Vec<_>>(),
        [(id, FailureReason::DeadlineExceeded)]
    );
}

pub(crate) async fn a_lower_limit_of_losses_counts_at_the_next_loss(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().lost_limit(5)).await;
    q.updated(taken.id, JobUpdate { max_lost_attempts: Some(1), ..JobUpdate::default() }).await;
    let swept = q.lose_leases(&[&node]).await;
    assert_eq!(swept.failed.iter().map(|job| job.id).collect::<Vec<_>>(), [taken.id]);
}

pub(crate) async fn an_update_is_a_change_of_its_tenants_job_only(q: Fixture) {
    let id = q.submit(job()).await;
    let before = q.position().await;
    assert_eq!(q.store.update(&tenant("other"), id, scoring(2), &q.limits).await.unwrap(), None);
    assert_eq!(q.changed_ids(&before).await, []);
    q.updated(id, scoring(2)).await;
    assert_eq!(q.changed_ids(&before).await, [id]);
}
