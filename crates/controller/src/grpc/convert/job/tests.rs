use std::collections::BTreeMap;

use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage};
use vmafx_job::{
    Backend, BitDepth, CancelCause, FailureReason, Feature, FrameSize, LengthMismatch, PixelFormat,
    PooledScores, RawVideo, ScaleTo, ScoreDetails, ScoreResult, ScoringOptions, ScoringRequest,
};
use vmafx_queue::job::{Label, Origin, Progress};
use vmafx_queue::{IdempotencyKey, JobId, TenantId};

use super::*;

/// A job with something in every field: more than any one job ever has.
fn whole() -> Job {
    Job {
        id: JobId(uuid::Uuid::from_u128(0x0192_d3f4_0000_7000_8000_0000_0000_0001)),
        tenant: TenantId::new("acme").unwrap(),
        state: State::Completed,
        scoring: ScoringRequest {
            reference: "/r.yuv".into(),
            distorted: "/d.yuv".into(),
            model: Some("vmaf_v0.6.1".into()),
            backend: Some(Backend::Cuda),
            input: Some(RawVideo {
                width: 1920,
                height: 1080,
                pixel_format: PixelFormat::Yuv444p,
                bit_depth: BitDepth::Twelve,
            }),
            options: ScoringOptions {
                features: vec![Feature::Psnr],
                frame_step: Some(5.try_into().unwrap()),
                scale_to: Some(ScaleTo::Size(FrameSize { width: 1280, height: 720 })),
                length_mismatch: Some(LengthMismatch::Shortest),
            },
            report_uri: Some("/out.json".into()),
        },
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
            details: Some(ScoreDetails {
                model: "vmaf_v0.6.1".into(),
                model_digest: "sha256:00".into(),
                backend: "cpu".into(),
                frames: 48,
                size: Some(FrameSize { width: 1280, height: 720 }),
                scores: Some(PooledScores {
                    mean: 1.0,
                    harmonic_mean: 2.0,
                    min: 3.0,
                    max: 4.0,
                    stddev: 5.0,
                    p1: 6.0,
                    p5: 7.0,
                    p10: 8.0,
                    p50: 9.0,
                }),
                warnings: vec!["short".into()],
                report_uri: "/out.json".into(),
            }),
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
    }
}

fn golden() -> wire::Job {
    wire::Job {
        id: "0192d3f4-0000-7000-8000-000000000001".into(),
        status: 2,
        scoring: Some(wire::ScoringParams {
            reference: "/r.yuv".into(),
            distorted: "/d.yuv".into(),
            model: "vmaf_v0.6.1".into(),
            backend: "cuda".into(),
            input: Some(wire::RawVideo { width: 1920, height: 1080, pixel_format: 3, bit_depth: 12 }),
            features: vec!["psnr".into()],
            frame_step: 5,
            scale_to: Some(wire::ScaleTo {
                target: Some(wire::scale_to::Target::Size(wire::PictureSize { width: 1280, height: 720 })),
            }),
            length_mismatch: 2,
            report_uri: "/out.json".into(),
        }),
        partial_results: vec![],
        assigned_node: "node-0".into(),
        error: "why".into(),
        created_at: 1_700_000_000,
        updated_at: 1_700_000_005,
        final_score: 93.25,
        scoring_roots: vec!["/clips".into()],
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
        result: Some(wire::ResultDetails {
            model: "vmaf_v0.6.1".into(),
            model_digest: "sha256:00".into(),
            backend: "cpu".into(),
            frames: 48,
            size: Some(wire::PictureSize { width: 1280, height: 720 }),
            scores: Some(wire::PooledScores {
                mean: 1.0,
                harmonic_mean: 2.0,
                min: 3.0,
                max: 4.0,
                stddev: 5.0,
                p1: 6.0,
                p5: 7.0,
                p10: 8.0,
                p50: 9.0,
            }),
            warnings: vec!["short".into()],
            report_uri: "/out.json".into(),
        }),
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
    }
}

#[test]
fn a_whole_job_as_a_message() {
    let handed_out = work(Work { job: whole(), scoring_roots: vec!["/clips".into()] });
    assert_eq!(handed_out, golden());
}

#[test]
fn roots_are_told_to_nodes_alone_and_cursors_to_watchers_alone() {
    let plain = wire::Job { scoring_roots: vec![], ..golden() };
    assert_eq!(job(whole()), plain);
    assert_eq!(change(Change::Snapshot(whole())), plain);
    assert_eq!(change(Change::Job("c7".into(), whole())), wire::Job { cursor: "c7".into(), ..plain });
}

#[test]
fn a_bookmark_is_nothing_but_its_cursor() {
    assert_eq!(
        change(Change::Bookmark("c9".into())),
        wire::Job { cursor: "c9".into(), ..Default::default() }
    );
}

/// Fields of a message that are at their defaults, messages within included.
fn empty_fields(message: &DynamicMessage, within: &str) -> Vec<String> {
    let mut empty = Vec::new();
    for field in message.descriptor().fields() {
        if field.containing_oneof().is_some() {
            continue;
        }
        let path = format!("{within}{}", field.name());
        if !message.has_field(&field) {
            empty.push(path);
        } else if let Some(inner) = message.get_field(&field).as_message() {
            empty.extend(empty_fields(inner, &format!("{path}.")));
        }
    }
    empty
}

#[test]
fn no_field_of_a_job_is_forgotten() {
    let pool = DescriptorPool::decode(vmafx_proto::FILE_DESCRIPTOR_SET).unwrap();
    let descriptor = pool.get_message_by_name("vmafx.controller.v1.Job").unwrap();
    let sent = wire::Job { scoring_roots: vec!["/clips".into()], ..change(Change::Job("c".into(), whole())) };
    let message = DynamicMessage::decode(descriptor, sent.encode_to_vec().as_slice()).unwrap();
    assert_eq!(empty_fields(&message, ""), ["partial_results"]);
}

#[test]
fn a_job_without_a_score_has_none() {
    let waiting = Job { state: State::Pending, result: None, ..whole() };
    let sent = job(waiting);
    assert_eq!((sent.status, sent.final_score), (0, 0.0));
    assert_eq!((sent.result, sent.features), (None, BTreeMap::new()));
}
