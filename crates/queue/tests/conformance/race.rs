//! Concurrent operations.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;
use vmafx_queue::JobId;
use vmafx_queue::outcome::AttemptOutcome;
use vmafx_queue::store::{Claim, Filter, Submitted};
use vmafx_queue::transition::State;

use crate::support::build::{JobBuilder, in_states, job, seconds};
use crate::support::fixture::Fixture;
use crate::support::node::{ReportKind, TestNode};

pub(crate) async fn each_of_many_jobs_is_claimed_exactly_once(q: Fixture) {
    let submitted = submit_many(&q, 500).await;
    let mut claiming = JoinSet::new();
    for number in 0..16 {
        let node = q.node(&format!("n{number}")).await;
        claiming.spawn(async move {
            let mut taken = Vec::new();
            while let Claim::Job(job) = node.claim().await {
                assert_eq!(job.attempt, 1);
                assert_eq!(node.complete(&job).await, ReportKind::Moved);
                taken.push(job.id);
            }
            taken
        });
    }
    let taken = claiming.join_all().await.concat();
    assert_eq!(taken.len(), 500, "no job is claimed twice");
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), submitted);
    assert_eq!(q.list(&in_states([State::Completed])).await.len(), 500);
}

async fn submit_many(q: &Fixture, count: usize) -> BTreeSet<JobId> {
    let mut submitting = JoinSet::new();
    for _ in 0..count {
        let q = q.clone();
        submitting.spawn(async move { q.submit(job()).await });
    }
    let ids = submitting.join_all().await;
    let distinct: BTreeSet<_> = ids.into_iter().collect();
    assert_eq!(distinct.len(), count, "every submission has an id of its own");
    distinct
}

pub(crate) async fn concurrent_submissions_with_one_key_make_one_job(q: Fixture) {
    for round in 0..10 {
        let together = Arc::new(Barrier::new(8));
        let mut submitting = JoinSet::new();
        for _ in 0..8 {
            let (q, together) = (q.clone(), together.clone());
            submitting.spawn(async move {
                together.wait().await;
                q.submitted(job().key(&format!("round {round}"))).await
            });
        }
        let answers: Vec<Submitted> = submitting.join_all().await;
        let ids: BTreeSet<_> = answers.iter().map(|answer| answer.id).collect();
        assert_eq!(ids.len(), 1, "{answers:?}");
        assert_eq!(answers.iter().filter(|answer| !answer.deduplicated).count(), 1, "{answers:?}");
    }
    assert_eq!(q.list(&Filter::default()).await.len(), 10);
}

pub(crate) async fn of_a_cancel_and_a_report_exactly_one_ends_the_job(q: Fixture) {
    let node = q.node("n").await;
    for _ in 0..30 {
        let taken = node.holds(job().label(5.0)).await;
        let (cancelled, said) = tokio::join!(q.cancelled(taken.id, "x"), node.complete(&taken));
        let over = q.job(taken.id).await;
        let outcomes = q.outcomes(taken.id).await;
        if cancelled.moved {
            assert_eq!((said, over.state), (ReportKind::Repeated, State::Cancelled));
            assert_eq!(outcomes, [(1, Some(AttemptOutcome::Cancelled))]);
        } else {
            assert_eq!((said, over.state), (ReportKind::Moved, State::Completed));
            assert_eq!(outcomes, [(1, Some(AttemptOutcome::Completed))]);
        }
    }
    let completed = q.list(&in_states([State::Completed])).await.len();
    assert_eq!(q.all_samples().await.len(), completed);
}

pub(crate) async fn of_a_cancel_and_a_claim_neither_is_lost(q: Fixture) {
    let node = q.node("n").await;
    for _ in 0..30 {
        let id = q.submit(job()).await;
        let (cancelled, claim) = tokio::join!(q.cancelled(id, "x"), node.claim());
        assert!(cancelled.moved, "no other call can have cancelled it");
        let over = q.job(id).await;
        assert_eq!((over.state, over.lease_expires_at), (State::Cancelled, None));
        let expected = match claim {
            Claim::Job(_) => vec![(1, Some(AttemptOutcome::Cancelled))],
            _ => vec![],
        };
        assert_eq!(q.outcomes(id).await, expected);
    }
}

pub(crate) async fn of_two_reports_exactly_one_ends_the_job(q: Fixture) {
    let node = q.node("n").await;
    for _ in 0..30 {
        let taken = node.holds(job().label(5.0)).await;
        let (one, two) = tokio::join!(node.complete(&taken), node.fail(&taken, "x"));
        let mut said = [one, two];
        said.sort_by_key(|said| *said == ReportKind::Moved);
        assert_eq!(said, [ReportKind::Repeated, ReportKind::Moved]);
    }
}

pub(crate) async fn of_a_release_and_a_report_one_is_refused(q: Fixture) {
    use vmafx_queue::store::Released;
    let node = q.node("n").await;
    for _ in 0..30 {
        let taken = node.holds(job()).await;
        match tokio::join!(node.release(&taken), node.complete(&taken)) {
            (Released::Moved, ReportKind::Fenced) => {
                let again = node.take().await;
                assert_eq!((again.id, again.attempt), (taken.id, 2));
                node.complete(&again).await;
            }
            (Released::Over, ReportKind::Moved) => {}
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn a_reader_of_changes_sees_every_job_in_its_last_state(q: Fixture) {
    let start = q.position().await;
    let node = q.node("n").await;
    let writing = async {
        let mut work = JoinSet::new();
        for _ in 0..8 {
            let (q, node) = (q.clone(), node.clone());
            work.spawn(async move { cycle(&q, &node, job(), 15).await });
        }
        work.join_all().await
    };
    let reading = async {
        let mut seen = std::collections::BTreeMap::new();
        let mut cursor = start.clone();
        // Every job finishes, so a reader that skips no change sees all 120 ends.
        while seen.values().filter(|state: &&State| state.is_final()).count() < 120 {
            let changes = q.changes(&cursor, 7).await;
            seen.extend(changes.jobs.iter().map(|(_, job)| (job.id, job.state)));
            cursor = changes.next;
            tokio::task::yield_now().await;
        }
        seen
    };
    let timeout = std::time::Duration::from_mins(1);
    let both = async { tokio::join!(writing, reading) };
    let Ok((_, seen)) = tokio::time::timeout(timeout, both).await else {
        panic!("the reader missed an end");
    };
    let stored: std::collections::BTreeMap<_, _> =
        q.list(&Filter::default()).await.into_iter().map(|job| (job.id, job.state)).collect();
    assert_eq!(seen, stored);
}

/// Submits, claims and completes `count` jobs, not necessarily its own.
async fn cycle(q: &Fixture, node: &TestNode, new: JobBuilder, count: usize) {
    for _ in 0..count {
        q.submit(new.clone()).await;
        let taken = node.take().await;
        assert_eq!(node.complete(&taken).await, ReportKind::Moved);
    }
}

pub(crate) async fn a_reader_of_samples_sees_each_exactly_once(q: Fixture) {
    let node = q.node("n").await;
    let writing = async {
        let mut work = JoinSet::new();
        for _ in 0..8 {
            let (q, node) = (q.clone(), node.clone());
            work.spawn(async move { cycle(&q, &node, job().label(5.0), 10).await });
        }
        work.join_all().await
    };
    let reading = async {
        let mut seen = Vec::new();
        let mut cursor = String::new();
        while seen.len() < 80 {
            let samples = q.samples(&cursor, 7).await;
            seen.extend(samples.samples.into_iter().map(|(_, sample)| sample.job));
            cursor = samples.next;
            tokio::task::yield_now().await;
        }
        seen
    };
    let timeout = std::time::Duration::from_mins(1);
    let both = async { tokio::join!(writing, reading) };
    let Ok((_, seen)) = tokio::time::timeout(timeout, both).await else {
        panic!("the reader missed a sample");
    };
    assert_eq!(seen.len(), 80);
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>().len(), 80);
}

pub(crate) async fn sweeps_at_once_count_a_loss_once(q: Fixture) {
    let node = q.node("n").await;
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(node.holds(job()).await.id);
    }
    q.pass(q.policy().lease_ttl.saturating_sub(seconds(5)), &[&node]).await;
    q.clock.advance(seconds(5));
    let (one, two, three) = tokio::join!(q.sweep(), q.sweep(), q.sweep());
    let counted = one.requeued.len() + two.requeued.len() + three.requeued.len();
    assert_eq!(counted, 20);
    assert!(q.list(&Filter::default()).await.iter().all(|job| job.lost_attempts == 1));
}
