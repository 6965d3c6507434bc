//! A session's secret does not reach a log through `{:?}`.

use std::fmt::Debug;

use vmafx_proto::controller::v1::{
    HeartbeatRequest, PullWorkRequest, RegisterNodeResponse, ReleaseJobRequest, ReportResultRequest,
};

use crate::descriptors::{messages, pool};

const SECRET: &str = "correct horse battery staple";

/// The `Debug` output of each message that carries the secret.
fn printed() -> Vec<(&'static str, String)> {
    fn print(message: impl Debug) -> String {
        format!("{message:?}")
    }
    let session_token = SECRET.to_owned();
    let node_id = "node-7".to_owned();
    vec![
        (
            "HeartbeatRequest",
            print(HeartbeatRequest {
                node_id: node_id.clone(),
                session_token: session_token.clone(),
                ..Default::default()
            }),
        ),
        (
            "PullWorkRequest",
            print(PullWorkRequest {
                node_id: node_id.clone(),
                session_token: session_token.clone(),
                ..Default::default()
            }),
        ),
        (
            "RegisterNodeResponse",
            print(RegisterNodeResponse {
                node_id: node_id.clone(),
                session_token: session_token.clone(),
                ..Default::default()
            }),
        ),
        (
            "ReleaseJobRequest",
            print(ReleaseJobRequest {
                node_id: node_id.clone(),
                session_token: session_token.clone(),
                ..Default::default()
            }),
        ),
        ("ReportResultRequest", print(ReportResultRequest { node_id, session_token, ..Default::default() })),
    ]
}

#[test]
fn printing_a_message_shows_its_fields_but_not_the_secret() {
    for (name, text) in printed() {
        assert!(!text.contains(SECRET), "{text}");
        assert!(text.contains("session_token: (redacted)"), "{text}");
        assert!(text.starts_with(name) && text.contains("node-7"), "{text}");
    }
}

#[test]
fn an_absent_secret_is_distinguished_from_a_redacted_one() {
    assert!(format!("{:?}", PullWorkRequest::default()).contains("session_token: (none)"));
}

#[test]
fn every_message_with_a_secret_redacts_it() {
    let mut carrying: Vec<_> = messages(&pool())
        .iter()
        .filter(|message| message.get_field_by_name("session_token").is_some())
        .map(|message| message.name().to_owned())
        .collect();
    carrying.sort();
    assert_eq!(carrying, printed().iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>());
}
