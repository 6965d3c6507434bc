//! Labels and samples.

use vmafx_queue::job::Labeller;
use vmafx_queue::store::{Filter, Labelled, Sample, StoreError};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId};

use crate::support::build::{by_key, job, node, pairs, percent, score};
use crate::support::fixture::Fixture;

fn sample(job: JobId, features: f64, label: f64) -> Sample {
    let labelled_by = Labeller::default();
    Sample { job, features: pairs([("vmaf", features)]), label, labelled_by, node_labels: pairs([]) }
}

fn stored(id: JobId, sampled: bool) -> Labelled {
    Labelled::Stored { id, sampled }
}

pub(crate) async fn a_label_at_submission_makes_a_sample_at_the_end(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().label(61.5)).await;
    assert_eq!(q.all_samples().await, []);
    let report = vmafx_queue::node::Report { job: taken.id, attempt: Some(1), result: Ok(score(93.0)) };
    let reported = node.report(report).await;
    assert!(matches!(reported, vmafx_queue::store::Reported::Moved { sampled: true, .. }), "{reported:?}");
    assert_eq!(q.all_samples().await, [sample(taken.id, 93.0, 61.5)]);
}

pub(crate) async fn a_waiting_job_can_be_labelled(q: Fixture) {
    let id = q.submit(job()).await;
    let before = q.job(id).await;
    assert_eq!(q.label(id, 40.0).await, stored(id, false));
    let labelled = q.job(id).await;
    assert!(labelled.revision > before.revision);
    assert_eq!(labelled, Job { label: Some(percent(40.0)), revision: labelled.revision, ..before });
    let node = q.node("n").await;
    let taken = node.take().await;
    node.complete(&taken).await;
    assert_eq!(q.all_samples().await, [sample(id, 80.0, 40.0)]);
}

pub(crate) async fn a_running_job_can_be_labelled(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    assert_eq!(q.label(taken.id, 40.0).await, stored(taken.id, false));
    assert_eq!(node.complete(&taken).await, crate::support::node::ReportKind::Moved);
    assert_eq!(q.all_samples().await, [sample(taken.id, 80.0, 40.0)]);
}

pub(crate) async fn a_later_label_replaces_an_earlier_one_before_the_end(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().label(10.0)).await;
    q.label(taken.id, 20.0).await;
    q.label(taken.id, 30.0).await;
    node.complete(&taken).await;
    assert_eq!(q.all_samples().await, [sample(taken.id, 80.0, 30.0)]);
}

pub(crate) async fn a_completed_job_becomes_a_sample_at_once_and_again_with_every_label(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job()).await;
    node.complete(&taken).await;
    assert_eq!(q.label(taken.id, 40.0).await, stored(taken.id, true));
    assert_eq!(q.label(taken.id, 40.0).await, stored(taken.id, true));
    assert_eq!(q.label(taken.id, 50.0).await, stored(taken.id, true));
    let expected = [40.0, 40.0, 50.0].map(|label| sample(taken.id, 80.0, label));
    assert_eq!(q.all_samples().await, expected);
    let over = q.job(taken.id).await;
    assert_eq!((over.label, over.state), (Some(percent(50.0)), State::Completed));
}

pub(crate) async fn a_failed_or_cancelled_job_cannot_be_labelled(q: Fixture) {
    let node = q.node("n").await;
    let failed = node.holds(job().label(10.0)).await;
    node.fail(&failed, "x").await;
    let cancelled = q.submit(job().label(10.0)).await;
    q.cancelled(cancelled, "x").await;
    for id in [failed.id, cancelled] {
        let before = q.job(id).await;
        assert_eq!(q.label(id, 40.0).await, Labelled::Over);
        assert_eq!(q.job(id).await, before);
    }
    assert_eq!(q.all_samples().await, []);
}

pub(crate) async fn a_job_can_be_labelled_by_its_key(q: Fixture) {
    let id = q.submit(job().key("clip 7")).await;
    assert_eq!(
        q.store.label(&q.tenant, &by_key("clip 7", ""), percent(40.0), &Labeller::default()).await.unwrap(),
        stored(id, false)
    );
    assert_eq!(q.job(id).await.label, Some(percent(40.0)));
}

pub(crate) async fn a_key_means_the_job_of_the_caller_or_else_the_only_one(q: Fixture) {
    let label = async |submitter: &str| {
        q.store.label(&q.tenant, &by_key("k", submitter), percent(4.0), &Labeller::default()).await.unwrap()
    };
    let alices = q.submit(job().key("k").submitter("alice")).await;
    assert_eq!(label("carol").await, stored(alices, false), "nobody else used the key");
    let bobs = q.submit(job().key("k").submitter("bob")).await;
    assert_eq!(label("alice").await, stored(alices, false));
    assert_eq!(label("bob").await, stored(bobs, false));
    assert_eq!(label("carol").await, Labelled::Ambiguous);
}

pub(crate) async fn a_job_that_is_not_there_cannot_be_labelled(q: Fixture) {
    q.submit(job().key("known")).await;
    let unknown = by_key("unknown", "");
    assert_eq!(
        q.store.label(&q.tenant, &unknown, percent(1.0), &Labeller::default()).await.unwrap(),
        Labelled::NotFound
    );
    assert_eq!(q.label(JobId(uuid::Uuid::from_u128(7)), 1.0).await, Labelled::NotFound);
}

pub(crate) async fn zero_and_the_best_are_labels(q: Fixture) {
    let node = q.node("n").await;
    for label in [0.0, 100.0] {
        let taken = node.holds(job().label(label)).await;
        node.complete(&taken).await;
    }
    let labels: Vec<_> = q.all_samples().await.iter().map(|sample| sample.label).collect();
    assert_eq!(labels, [0.0, 100.0]);
}

pub(crate) async fn a_sample_has_the_labels_of_the_node_that_scored_it(q: Fixture) {
    let gone = q.register(node("n").labels([("gpu", "a100"), ("zone", "b")])).await;
    let lost = gone.holds(job().label(10.0)).await;
    let taken = gone.holds(job()).await;
    gone.complete(&taken).await;
    q.lose_leases(&[]).await;
    // The session has ended, and a node of the same name has other labels: the first sample keeps the labels of its
    // attempt.
    let next = q.register(node("n").labels([("gpu", "h100")])).await;
    q.wait_for(lost.id, &[&next]).await;
    let again = next.take().await;
    next.complete(&again).await;
    q.label(taken.id, 20.0).await;
    let labels: Vec<_> = q.all_samples().await.into_iter().map(|it| (it.job, it.node_labels)).collect();
    let first = (lost.id, pairs([("gpu", "h100".to_owned())]));
    let second = (taken.id, pairs([("gpu", "a100".to_owned()), ("zone", "b".to_owned())]));
    assert_eq!(labels, [first, second]);
}

/// The label at submission, a later one, one of a job that is completed, and one of an attempt that reports late.
pub(crate) async fn a_sample_names_who_gave_its_label(q: Fixture) {
    let node = q.node("n").await;
    let first = node.holds(job().label(10.0).labelled_by("anna")).await;
    node.complete(&first).await;
    let second = node.holds(job().label(10.0).labelled_by("anna")).await;
    q.labelled_by("ben", second.id, 20.0).await;
    node.complete(&second).await;
    q.labelled_by("carl", second.id, 30.0).await;
    let late = node.holds(job().label(40.0).labelled_by("anna")).await;
    q.lose_leases(&[]).await;
    node.complete(&late).await;
    let found: Vec<_> = q.all_samples().await.into_iter().map(|it| (it.label, it.labelled_by)).collect();
    let expected = [(10.0, "anna"), (20.0, "ben"), (30.0, "carl"), (40.0, "anna")];
    assert_eq!(found, expected.map(|(label, who)| (label, Labeller::new(who))));
}

pub(crate) async fn samples_come_in_pages_that_continue_where_they_ended(q: Fixture) {
    let node = q.node("n").await;
    let mut expected = Vec::new();
    for label in [1.0, 2.0, 3.0, 4.0, 5.0] {
        let taken = node.holds(job().label(label)).await;
        node.complete(&taken).await;
        expected.push(label);
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    for _ in 0..3 {
        let page = q.samples(&cursor, 2).await;
        seen.push(page.samples.iter().map(|(_, sample)| sample.label).collect::<Vec<_>>());
        cursor = page.next;
    }
    assert_eq!(seen, [vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0]]);
    assert_eq!(q.samples(&cursor, 2).await.samples, []);
    q.label(q.list(&Filter::default()).await[0].id, 6.0).await;
    let new: Vec<_> = q.samples(&cursor, 2).await.samples.iter().map(|(_, sample)| sample.label).collect();
    assert_eq!(new, [6.0]);
}

pub(crate) async fn a_reader_of_samples_may_continue_after_any_of_them(q: Fixture) {
    let node = q.node("n").await;
    for label in [1.0, 2.0, 3.0] {
        let taken = node.holds(job().label(label)).await;
        node.complete(&taken).await;
    }
    let all = q.samples("", 10).await.samples;
    for (place, (cursor, _)) in all.iter().enumerate() {
        let rest = q.samples(cursor, 10).await.samples;
        assert_eq!(rest, all[place + 1..]);
    }
}

pub(crate) async fn an_empty_stream_of_samples_has_a_place_to_continue_from(q: Fixture) {
    let start = q.samples("", 10).await;
    assert_eq!(start.samples, []);
    let node = q.node("n").await;
    let taken = node.holds(job().label(1.0)).await;
    node.complete(&taken).await;
    assert_eq!(q.samples(&start.next, 10).await.samples.len(), 1);
}

pub(crate) async fn a_foreign_cursor_of_samples_is_refused(q: Fixture) {
    let other = q.fresh(q.policy()).await;
    let node = other.node("n").await;
    for _ in 0..3 {
        let taken = node.holds(job().label(1.0)).await;
        node.complete(&taken).await;
    }
    let foreign = other.samples("", 10).await.next;
    for cursor in [foreign.as_str(), "nonsense", "\u{1f3a5}", "99999999999999999999999", "-1", " "] {
        let answer = q.store.samples(&q.tenant, cursor, 10).await;
        assert!(matches!(answer, Err(StoreError::Cursor)), "{cursor:?}: {answer:?}");
    }
}
