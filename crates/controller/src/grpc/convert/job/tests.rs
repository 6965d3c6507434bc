use std::collections::BTreeMap;

use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, FieldDescriptor, ReflectMessage};
use vmafx_job::{CancelCause, FailureReason, ScoreDetails, ScoreResult, ScoringRequest};
use vmafx_queue::job::{AvoidedNode, Label, Origin, Progress};
use vmafx_queue::{IdempotencyKey, JobId, TenantId};

use super::*;
use crate::service::page_size::estimate;

/// A job with a value in every field, which no real job has. The parts that `vmafx_proto::convert` converts are tested
/// there.
fn whole() -> Job {
    Job {
        id: JobId(uuid::Uuid::from_u128(0x0192_d3f4_0000_7000_8000_0000_0000_0001)),
        tenant: TenantId::new("acme").unwrap(),
        state: State::Completed,
        scoring: ScoringRequest { reference: "/r.yuv".into(), ..ScoringRequest::default() },
        priority: 7,
        key: Some(IdempotencyKey::new("uid-1").unwrap()),
        origin: Some(Origin {
            cluster: "c".into(),
            namespace: "n".into(),
            name: "x".into(),
            uid: "u".into(),
        }),
        attempt: 2,
        lost_attempts: 1,
        max_lost_attempts: 3,
        node: Some("node-0".into()),
        progress: Some(Progress { done: 10, total: 20 }),
        result: Some(ScoreResult {
            score: 93.25,
            features: BTreeMap::from([("vif".to_owned(), 0.5)]),
            details: Some(ScoreDetails { model: "vmaf_v0.6.1".into(), ..ScoreDetails::default() }),
        }),
        error: "why".into(),
        failure_reason: FailureReason::InputInvalid,
        label: Some(Label::mos(3.0).unwrap()),
        created_at: Timestamp(1_700_000_000_999),
        updated_at: Timestamp(1_700_000_005_001),
        started_at: Some(Timestamp(1_700_000_001_000)),
        finished_at: Some(Timestamp(1_700_000_005_000)),
        available_at: Some(Timestamp(1_700_000_000_500)),
        lease_expires_at: Some(Timestamp(1_700_000_061_000)),
        deadline_at: Some(Timestamp(1_700_000_099_000)),
        revision: 4,
        cancel_cause: Some(CancelCause::Replaced),
        last_failure: Some(FailedAttempt {
            attempt: 1,
            node: "node-1".into(),
            reason: FailureReason::ScratchFull,
            message: "full".into(),
        }),
        avoids: Some(AvoidedNode { node: "node-1".into(), until: Timestamp(1_700_000_070_000) }),
        next_scoring: Some(ScoringRequest { reference: "/next.yuv".into(), ..ScoringRequest::default() }),
    }
}

fn golden() -> wire::Job {
    wire::Job {
        id: "0192d3f4-0000-7000-8000-000000000001".into(),
        status: 2,
        scoring: Some(wire::ScoringParams { reference: "/r.yuv".into(), ..Default::default() }),
        partial_results: vec![],
        assigned_node: "node-0".into(),
        error: "why".into(),
        created_at: 1_700_000_000,
        updated_at: 1_700_000_005,
        final_score: 93.25,
        scoring_roots: vec!["/clips".into()],
        report_roots: vec!["/reports".into()],
        tenant: String::new(),
        priority: 7,
        attempt: 2,
        lost_attempts: 1,
        max_lost_attempts: 3,
        origin: Some(wire::ResourceRef {
            cluster: "c".into(),
            namespace: "n".into(),
            name: "x".into(),
            uid: "u".into(),
        }),
        idempotency_key: "uid-1".into(),
        progress: Some(wire::Progress { frames_done: 10, frames_total: 20 }),
        result: Some(wire::ResultDetails { model: "vmaf_v0.6.1".into(), ..Default::default() }),
        features: BTreeMap::from([("vif".to_owned(), 0.5)]),
        failure_reason: 3,
        started_at_ms: 1_700_000_001_000,
        finished_at_ms: 1_700_000_005_000,
        available_at_ms: 1_700_000_000_500,
        lease_expires_at_ms: 1_700_000_061_000,
        ground_truth: Some(wire::GroundTruth { value: 50.0, scale: 1 }),
        revision: 4,
        cursor: String::new(),
        deadline_at_ms: 1_700_000_099_000,
        cancel_cause: 2,
        last_failure: Some(wire::FailedAttempt {
            attempt: 1,
            node: "node-1".into(),
            reason: 24,
            message: "full".into(),
        }),
        avoid_node: "node-1".into(),
        avoid_until_ms: 1_700_000_070_000,
        next_scoring: Some(wire::ScoringParams { reference: "/next.yuv".into(), ..Default::default() }),
    }
}

#[test]
fn the_estimated_size_of_a_job_is_not_below_its_size() {
    let long = || "x".repeat(4096);
    let failure = FailedAttempt { message: long(), ..whole().last_failure.unwrap() };
    let scoring = ScoringRequest { distorted: long(), ..whole().scoring };
    let jobs = [
        Job { error: long(), ..whole() },
        Job { last_failure: Some(failure), ..whole() },
        Job { avoids: Some(AvoidedNode { node: long(), ..whole().avoids.unwrap() }), ..whole() },
        Job { node: Some(long()), ..whole() },
        Job { next_scoring: Some(scoring.clone()), ..whole() },
        Job { scoring, ..whole() },
    ];
    for large in jobs {
        let estimate = estimate(&large);
        assert!(job(large.clone()).encoded_len() <= estimate, "{large:?}");
    }
}

#[test]
fn a_whole_job_as_a_message() {
    let assigned = AssignedJob {
        job: whole(),
        scoring_roots: vec!["/clips".into()],
        report_roots: vec!["/reports".into()],
        is_guest: false,
    };
    assert_eq!(assigned_job(assigned.clone()), golden());
    let of_guest = assigned_job(AssignedJob { is_guest: true, ..assigned });
    assert_eq!(of_guest, wire::Job { tenant: whole().tenant.to_string(), ..golden() });
}

#[test]
fn only_nodes_receive_roots_and_only_watches_receive_cursors() {
    let plain = wire::Job { scoring_roots: vec![], report_roots: vec![], ..golden() };
    assert_eq!(job(whole()), plain);
    assert_eq!(change(JobChange::Snapshot(whole())), plain);
    assert_eq!(change(JobChange::Job("c7".into(), whole())), wire::Job { cursor: "c7".into(), ..plain });
}

#[test]
fn a_bookmark_is_nothing_but_its_cursor() {
    assert_eq!(
        change(JobChange::Bookmark("c9".into())),
        wire::Job { cursor: "c9".into(), ..Default::default() }
    );
}

#[test]
fn no_field_of_a_job_is_forgotten() {
    let pool = DescriptorPool::decode(vmafx_proto::FILE_DESCRIPTOR_SET).unwrap();
    let descriptor = pool.get_message_by_name("vmafx.controller.v1.Job").unwrap();
    let assigned = assigned_job(AssignedJob {
        job: whole(),
        scoring_roots: vec!["/clips".into()],
        report_roots: vec!["/reports".into()],
        is_guest: true,
    });
    let wire::Job { scoring_roots, report_roots, tenant, .. } = assigned;
    let sent =
        wire::Job { scoring_roots, report_roots, tenant, ..change(JobChange::Job("c".into(), whole())) };
    let message = DynamicMessage::decode(descriptor, sent.encode_to_vec().as_slice()).unwrap();
    let descriptor = message.descriptor();
    let empty: Vec<_> = descriptor.fields().filter(|field| !message.has_field(field)).collect();
    assert_eq!(empty.iter().map(FieldDescriptor::name).collect::<Vec<_>>(), ["partial_results"]);
}

#[test]
fn a_job_without_a_score_has_none() {
    let waiting = Job { state: State::Pending, result: None, ..whole() };
    let sent = job(waiting);
    assert_eq!((sent.status, sent.final_score), (0, 0.0));
    assert_eq!((sent.result, sent.features), (None, BTreeMap::new()));
}
