//! Submissions and their idempotency keys.

use std::time::Duration;

use vmafx_job::{Backend, BitDepth, CancelCause, FailureReason, PixelFormat, RawVideo, ScoringRequest};
use vmafx_queue::store::{Filter, Labelled, Submitted};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId, NewJob, StoreError};

use crate::support::build::{JobBuilder, job, key, origin, percent, seconds};
use crate::support::fixture::Fixture;

pub(crate) async fn a_job_is_stored_as_it_was_submitted(q: Fixture) {
    let scoring = ScoringRequest {
        reference: "s3://clips/ref.yuv".into(),
        distorted: "s3://clips/dis.yuv".into(),
        model: Some("vmaf_4k_v0.6.1".into()),
        backend: Some(Backend::Cuda),
        input: Some(RawVideo {
            width: 1920,
            height: 1080,
            pixel_format: PixelFormat::Yuv422p,
            bit_depth: BitDepth::Ten,
        }),
        options: serde_json::from_value(serde_json::json!({
            "features": ["psnr", "cambi"], "frameStep": 3, "scaleTo": "640x360", "lengthMismatch": "Shortest",
        }))
        .unwrap(),
        report_uri: Some("s3://reports/one.json".into()),
        overwrite_report: true,
    };
    let new = job()
        .scoring(scoring)
        .priority(-7)
        .key("mine")
        .origin(origin("video", "clip"))
        .lost_limit(2)
        .deadline(seconds(90))
        .label(61.25);
    let id = q.submit(new.clone()).await;
    let found = q.job(id).await;
    let expected = Job {
        id,
        tenant: q.tenant.clone(),
        state: State::Pending,
        scoring: new.0.scoring,
        priority: -7,
        key: Some(key("mine")),
        origin: Some(origin("video", "clip")),
        attempt: 0,
        lost_attempts: 0,
        max_lost_attempts: 2,
        node: None,
        progress: None,
        result: None,
        error: String::new(),
        failure_reason: FailureReason::Unspecified,
        label: Some(percent(61.25)),
        created_at: q.now(),
        updated_at: q.now(),
        started_at: None,
        finished_at: None,
        available_at: None,
        lease_expires_at: None,
        deadline_at: Some(q.now() + seconds(90)),
        revision: found.revision,
        cancel_cause: None,
        last_failure: None,
        avoids: None,
        next_scoring: None,
    };
    assert_eq!(found, expected);
    assert_eq!(q.attempts(id).await, []);
}

pub(crate) async fn omitted_fields_have_their_defaults(q: Fixture) {
    let found = q.job(q.submit(job()).await).await;
    assert_eq!((found.key, found.origin, found.label, found.deadline_at), (None, None, None, None));
    assert_eq!((found.priority, found.max_lost_attempts), (0, 3));
}

pub(crate) async fn ids_sort_by_age(q: Fixture) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(q.submit(job()).await);
        q.clock.advance(Duration::from_millis(2));
    }
    assert!(ids.is_sorted());
    assert!(ids.iter().all(|id| id.0.get_version_num() == 7));
}

pub(crate) async fn a_known_key_finds_the_first_job_and_stores_nothing(q: Fixture) {
    let id = q.submit(job().key("k").priority(1).label(10.0)).await;
    let before = q.job(id).await;
    let cursor = q.position().await;
    q.clock.advance(seconds(5));
    let again = q.submitted(job().key("k").priority(1).label(10.0)).await;
    assert_eq!(again, Submitted { id, deduplicated: true });
    assert_eq!(q.job(id).await, before);
    assert_eq!(q.changed_ids(&cursor).await, []);
    assert_eq!(q.list(&Filter::default()).await.len(), 1);
}

pub(crate) async fn a_first_submission_is_not_deduplicated(q: Fixture) {
    assert!(!q.submitted(job().key("k")).await.deduplicated);
    assert!(!q.submitted(job()).await.deduplicated);
}

pub(crate) async fn without_a_key_every_call_makes_a_job(q: Fixture) {
    assert_ne!(q.submit(job()).await, q.submit(job()).await);
}

pub(crate) async fn keys_are_compared_to_the_letter(q: Fixture) {
    let mut ids = Vec::new();
    for text in ["key", "Key", "key ", "ke\u{301}y", "k\u{e9}y"] {
        ids.push(q.submit(job().key(text)).await);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

pub(crate) async fn two_tenants_may_use_one_key(q: Fixture) {
    let ours = q.submitted(job().key("k")).await;
    let theirs = q.of("other").submitted(job().key("k")).await;
    assert!(!theirs.deduplicated);
    assert_ne!(ours.id, theirs.id);
    assert_eq!(q.of("other").submit(job().key("k")).await, theirs.id);
}

pub(crate) async fn a_key_is_known_after_its_job_has_ended(q: Fixture) {
    let node = q.node("n").await;
    let completed = node.holds(job().key("completed")).await;
    node.complete(&completed).await;
    let failed = node.holds(job().key("failed")).await;
    node.fail(&failed, "x").await;
    let cancelled = q.submit(job().key("cancelled")).await;
    q.cancelled(cancelled, "x").await;
    for (text, id) in [("completed", completed.id), ("failed", failed.id), ("cancelled", cancelled)] {
        let before = q.job(id).await;
        let again = q.submitted(job().key(text)).await;
        assert_eq!(again, Submitted { id, deduplicated: true }, "{text}");
        assert_eq!(q.job(id).await, before, "{text}");
    }
    assert!(node.has_nothing().await);
}

pub(crate) async fn a_label_with_a_known_key_makes_no_sample(q: Fixture) {
    let node = q.node("n").await;
    let resource = origin("video", "clip");
    let taken = node.holds(job().key("k").origin(resource.clone())).await;
    node.complete(&taken).await;
    q.submit(job().key("k").origin(resource).label(50.0)).await;
    assert_eq!(q.all_samples().await, []);
    assert_eq!(q.label(taken.id, 40.0).await, Labelled::Stored { id: taken.id, sampled: true });
}

pub(crate) async fn a_known_key_with_another_request_is_refused(q: Fixture) {
    let first = job().key("k").submitter("alice").origin(origin("video", "clip"));
    let id = q.submit(first.clone()).await;
    let (before, cursor) = (q.job(id).await, q.position().await);
    let others = [
        first.clone().priority(9).origin(origin("video", "another")),
        first.clone().backend("cuda").origin(origin("video", "another")),
        JobBuilder(NewJob { origin: None, ..first.0.clone() }),
    ];
    for other in others {
        let refused = q.store.submit(&q.tenant, other.0, &q.limits).await;
        assert!(matches!(refused, Err(StoreError::KeyReused { job }) if job == id), "{refused:?}");
    }
    assert_eq!(q.job(id).await, before);
    assert_eq!(q.changed_ids(&cursor).await, []);
    assert_eq!(q.submitted(first).await, Submitted { id, deduplicated: true });
}

/// Its owner may change a resource between two submissions of its job.
pub(crate) async fn a_resource_finds_its_job_also_after_it_was_changed(q: Fixture) {
    let of_resource = job().key("uid").submitter("operator").origin(origin("video", "clip"));
    let id = q.submit(of_resource.clone()).await;
    let changed = of_resource.priority(5).deadline(seconds(60)).label(1.0);
    assert_eq!(q.submitted(changed).await, Submitted { id, deduplicated: true });
    assert_eq!(q.job(id).await.priority, 0);
}

pub(crate) async fn nobody_can_take_the_key_of_another_submitter(q: Fixture) {
    let guessed = q.submitted(job().key("uid").submitter("mallory").origin(origin("video", "clip"))).await;
    let own = q.submitted(job().key("uid").submitter("operator").origin(origin("video", "clip"))).await;
    assert!(!own.deduplicated);
    assert_ne!(own.id, guessed.id);
}

pub(crate) async fn a_key_without_a_submitter_is_known_to_all(q: Fixture) {
    let id = q.submit(job().key("k")).await;
    assert_eq!(q.submitted(job().key("k").submitter("a")).await, Submitted { id, deduplicated: true });
}

pub(crate) async fn jobs_keep_their_order_when_the_clock_is_set_back(q: Fixture) {
    let first = q.submit(job()).await;
    q.clock.turn_back(seconds(600));
    let second = q.submit(job()).await;
    assert!(second > first);
    assert!(q.job(second).await.created_at >= q.job(first).await.created_at);
    assert_eq!(q.node("n").await.take_all().await, [first, second]);
    q.clock.turn_back(Duration::from_hours(8));
    let third = q.submit(job()).await;
    assert_eq!(q.job(third).await.created_at, q.now(), "a clock that was so wrong is not followed");
}

pub(crate) async fn an_unknown_job_is_not_there(q: Fixture) {
    let unknown = JobId(uuid::Uuid::from_u128(7));
    assert_eq!(q.store.job(&q.tenant, unknown).await.unwrap(), None);
    assert_eq!(q.attempts(unknown).await, []);
    assert_eq!(q.store.explain(&q.tenant, unknown).await.unwrap(), None);
    assert_eq!(q.store.cancel(&q.tenant, unknown, CancelCause::Requested, "x").await.unwrap(), None);
}
