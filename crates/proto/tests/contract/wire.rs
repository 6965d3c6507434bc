//! Messages as bytes, written by hand from the contract: a descriptor test alone would pass if code and descriptors came
//! from different files.
//!
//! A field is a tag, `number << 3 | wire type`, and a value. Wire types: 0 varint, 1 eight bytes, 2 length and bytes.

use std::{collections::BTreeMap, fmt::Debug};

use prost::Message;
use vmafx_proto::{controller::v1 as controller, scoring::v1 as scoring};

/// 93.5 as eight bytes, little endian.
const NINETY_THREE_AND_A_HALF: [u8; 8] = [0, 0, 0, 0, 0, 0x60, 0x57, 0x40];

/// The bytes decode to the message, and the message encodes to the bytes.
#[track_caller]
fn same<M: Message + Default + PartialEq + Debug>(bytes: &[u8], message: &M) {
    assert_eq!(&M::decode(bytes).unwrap(), message);
    assert_eq!(message.encode_to_vec(), bytes);
}

#[test]
fn a_completed_job_of_a_peer_without_our_fields() {
    let mut bytes = vec![
        0x0a, 2, b'j', b'1', // 1 id
        0x10, 2, // 2 status: COMPLETED
        0x1a, 11, // 3 scoring
        0x0a, 1, b'r', 0x12, 1, b'd', 0x22, 3, b'c', b'p', b'u', // 1 reference, 2 distorted, 4 backend
        0x2a, 2, b'n', b'0', // 5 assigned_node
        0x38, 0xac, 0x02, // 7 created_at: 300
        0x40, 0xad, 0x02, // 8 updated_at: 301
        0x49, // 9 final_score
    ];
    bytes.extend(NINETY_THREE_AND_A_HALF);
    bytes.extend([0x52, 2, b'/', b'm']); // 10 scoring_roots
    same(
        &bytes,
        &controller::Job {
            id: "j1".into(),
            status: controller::JobStatus::Completed.into(),
            scoring: Some(controller::ScoringParams {
                reference: "r".into(),
                distorted: "d".into(),
                backend: "cpu".into(),
                ..Default::default()
            }),
            assigned_node: "n0".into(),
            created_at: 300,
            updated_at: 301,
            final_score: 93.5,
            scoring_roots: vec!["/m".into()],
            ..Default::default()
        },
    );
}

#[test]
fn a_score_of_zero_is_distinguished_from_no_score_by_the_state_and_by_the_result() {
    // A peer without our fields sends no bytes for 0, so that only the state shows that there is a score.
    let bytes = [0x10, 2]; // 2 status: COMPLETED
    let job = controller::Job::decode(&bytes[..]).unwrap();
    assert_eq!((job.status(), job.final_score), (controller::JobStatus::Completed, 0.0));
    assert_eq!(job.result, None);

    // With our fields the result is present although every number in it is 0.
    let result = Some(controller::ResultDetails {
        scores: Some(controller::PooledScores::default()),
        ..Default::default()
    });
    same(
        &[
            0x10, 2, // 2 status: COMPLETED
            0xda, 0x06, 2, // 107 result
            0x32, 0, // 6 scores, empty
        ],
        &controller::Job { status: 2, result, ..Default::default() },
    );
}

#[test]
fn a_report_with_features_and_partial_scores() {
    let mut bytes = vec![
        0x0a, 1, b'n', // 1 node_id
        0x12, 1, b's', // 2 session_token
        0x1a, 1, b'j', // 3 job_id
        0x20, 1,    // 4 final
        0x29, // 5 score
    ];
    bytes.extend(NINETY_THREE_AND_A_HALF);
    bytes.extend([0x32, 13, 0x0a, 2, b'v', b'0', 0x11]); // 6 features: one entry, 1 key, 2 value
    bytes.extend(NINETY_THREE_AND_A_HALF);
    bytes.extend([0x3a, 8]); // 7 partial_scores, packed
    bytes.extend(NINETY_THREE_AND_A_HALF);
    bytes.extend([0x42, 1, b'e']); // 8 error
    bytes.extend([0xa0, 0x06, 3]); // 100 attempt, ours
    same(
        &bytes,
        &controller::ReportResultRequest {
            node_id: "n".into(),
            session_token: "s".into(),
            job_id: "j".into(),
            r#final: true,
            score: 93.5,
            features: BTreeMap::from([("v0".into(), 93.5)]),
            partial_scores: vec![93.5],
            error: "e".into(),
            attempt: 3,
            ..Default::default()
        },
    );
}

#[test]
fn a_filter_of_states_is_one_packed_field_and_single_fields_are_understood_too() {
    let filter = controller::StreamJobsRequest { status_filter: vec![0, 1], ..Default::default() };
    same(&[0x0a, 2, 0, 1], &filter); // 1 status_filter
    assert_eq!(controller::StreamJobsRequest::decode(&[0x08, 0, 0x08, 1][..]).unwrap(), filter);
}

#[test]
fn no_work_is_an_empty_response() {
    same(&[], &controller::PullWorkResponse { job: None });
}

#[test]
fn an_unknown_field_is_skipped() {
    // 11 and 60: numbers that a newer peer might use.
    let bytes = [0x5a, 1, b'x', 0xe0, 0x03, 1, 0x0a, 1, b'j'];
    assert_eq!(controller::Job::decode(&bytes[..]).unwrap().id, "j");
}

#[test]
fn a_stream_begins_with_a_config_and_goes_on_with_frame_pairs() {
    use scoring::score_stream_request::Payload;
    let config =
        scoring::StreamConfig { width: 16, pixel_format: 4, frame_count_hint: 2, ..Default::default() };
    same(
        &[0x0a, 6, 0x08, 16, 0x18, 4, 0x28, 2],
        &scoring::ScoreStreamRequest { payload: Some(Payload::Config(config)) },
    );
    let pair = scoring::FramePair {
        frame_index: 1,
        raw_reference: vec![7, 8].into(),
        raw_distorted: vec![9].into(),
    };
    same(
        &[0x12, 9, 0x08, 1, 0x12, 2, 7, 8, 0x1a, 1, 9],
        &scoring::ScoreStreamRequest { payload: Some(Payload::FramePair(pair)) },
    );
}

#[test]
fn provenance_of_another_library_is_read_without_its_build_facts() {
    let bytes = [
        0x0a, 1, b'x', // 1, a build fact
        0xa2, 0x06, 1, b'm', // 100 models
        0xb2, 0x06, 6, 0x0a, 1, b'k', 0x12, 1, b'v', // 102 annotations: one entry
    ];
    let expected = scoring::Provenance {
        models: vec!["m".into()],
        annotations: BTreeMap::from([("k".into(), "v".into())]),
        ..Default::default()
    };
    assert_eq!(scoring::Provenance::decode(&bytes[..]).unwrap(), expected);
    assert_eq!(expected.encode_to_vec(), bytes[3..]);
}
