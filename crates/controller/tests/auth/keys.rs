//! Keys that change, and key servers that fail.

use std::time::Duration;

use axum::http::StatusCode;
use rstest::rstest;
use serde_json::json;
use vmafx_controller::auth::Access;
use vmafx_controller::refusal::Refusal;

use crate::clock::TestClock;
use crate::issuer::{Issuer, KeyResponse, clock, jwk, key, mint, open};

const MINUTE: Duration = Duration::from_mins(1);

/// A token that names the key `kid` and is signed by the key of this number.
fn signed_by(issuer: &Issuer, kid: &str, number: usize) -> String {
    mint(&json!({"alg": "RS256", "kid": kid}), &issuer.claims(), key(number))
}

async fn is_accepted(access: &Access, token: &str) -> bool {
    match access.authenticator.authenticate(Some(token)).await {
        Ok(_) => true,
        Err(Refusal::Unauthenticated) => false,
        Err(other) => panic!("{other:?}"),
    }
}

async fn assert_unavailable(access: &Access, token: &str) {
    let refusal = access.authenticator.authenticate(Some(token)).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Unavailable(_)), "{refusal:?}");
}

/// An issuer and a token of it that was accepted, which expires only after the end of each test.
async fn with_accepted_token() -> (Issuer, TestClock, Access, String) {
    let issuer = Issuer::start().await;
    let clock = clock();
    let access = issuer.trusted(&clock).await;
    let token = issuer.token_with(|claims| claims["exp"] = json!(4_000_000_000_i64));
    assert!(is_accepted(&access, &token).await);
    (issuer, clock, access, token)
}

#[tokio::test]
async fn keys_are_read_once_for_many_tokens() {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&clock()).await;
    for subject in 0..20 {
        let token = issuer.token_with(|claims| claims["sub"] = json!(subject.to_string()));
        assert!(is_accepted(&access, &token).await);
    }
    assert_eq!(issuer.reads(), 1);
}

#[tokio::test]
async fn a_new_key_is_found_once_the_cooldown_is_over() {
    let issuer = Issuer::start().await;
    let clock = clock();
    let access = issuer.trusted(&clock).await;
    assert!(is_accepted(&access, &issuer.token()).await);
    issuer.publish(&[jwk("first", key(0)), jwk("second", key(1))]);
    let new = signed_by(&issuer, "second", 1);

    clock.advance(Duration::from_secs(29));
    for _ in 0..10 {
        assert!(!is_accepted(&access, &new).await, "the keys were read again before the cooldown was over");
    }
    assert_eq!(issuer.reads(), 1);
    clock.advance(Duration::from_secs(1));
    assert!(is_accepted(&access, &new).await);
    assert_eq!(issuer.reads(), 2);
}

#[tokio::test]
async fn unknown_keys_do_not_cause_more_reads() {
    let issuer = Issuer::start().await;
    let clock = clock();
    let access = issuer.trusted(&clock).await;
    for round in 1..=3 {
        let guesses =
            (0..50).map(|guess| signed_by(&issuer, &format!("guess-{guess}"), 1)).collect::<Vec<_>>();
        let tries = guesses.iter().map(|token| is_accepted(&access, token));
        assert_eq!(futures::future::join_all(tries).await, vec![false; 50]);
        assert_eq!(issuer.reads(), round);
        clock.advance(Duration::from_secs(30));
    }
}

/// A caller that starts a read and disconnects must neither cancel the read nor make others start a new one.
#[tokio::test]
async fn a_read_survives_the_caller_that_started_it() {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&clock()).await;
    let token = issuer.token();
    for _ in 0..5 {
        let mut call = Box::pin(access.authenticator.authenticate(Some(&token)));
        assert!(futures::poll!(call.as_mut()).is_pending());
    }
    assert!(is_accepted(&access, &token).await);
    assert_eq!(issuer.reads(), 1);
}

#[tokio::test]
async fn a_revoked_key_is_accepted_for_at_most_fifteen_minutes() {
    let (issuer, clock, access, token) = with_accepted_token().await;
    issuer.publish(&[jwk("second", key(1))]);
    clock.advance(14 * MINUTE);
    assert!(is_accepted(&access, &token).await);
    assert_eq!(issuer.reads(), 1);
    clock.advance(MINUTE);
    assert!(!is_accepted(&access, &token).await, "the key was revoked, but its token is still cached");
    assert_eq!(issuer.reads(), 2);
}

#[tokio::test]
async fn another_key_with_the_same_id_invalidates_the_tokens_of_the_first() {
    let (issuer, clock, access, token) = with_accepted_token().await;
    issuer.publish(&[jwk("first", key(1))]);
    clock.advance(15 * MINUTE);
    assert!(!is_accepted(&access, &token).await);
}

#[tokio::test]
async fn keys_are_used_for_a_day_while_their_server_fails() {
    let (issuer, clock, access, token) = with_accepted_token().await;
    issuer.respond(KeyResponse::Status(StatusCode::INTERNAL_SERVER_ERROR));
    clock.advance(Duration::from_secs(24 * 60 * 60 - 1));
    assert!(is_accepted(&access, &token).await);
    assert!(!is_accepted(&access, &signed_by(&issuer, "second", 1)).await);

    clock.advance(Duration::from_secs(1));
    assert_unavailable(&access, &token).await;

    issuer.publish(&[jwk("first", key(0))]);
    clock.advance(Duration::from_secs(30));
    assert!(is_accepted(&access, &token).await);
}

#[tokio::test]
async fn keys_older_than_a_day_are_not_used_even_without_calls_meanwhile() {
    let (issuer, clock, access, token) = with_accepted_token().await;
    issuer.respond(KeyResponse::Status(StatusCode::INTERNAL_SERVER_ERROR));
    clock.advance(25 * 60 * MINUTE);
    assert_unavailable(&access, &token).await;
}

#[tokio::test]
async fn while_the_server_is_down_it_is_asked_every_half_minute_and_no_call_waits() {
    let (issuer, clock, access, token) = with_accepted_token().await;
    issuer.respond(KeyResponse::Status(StatusCode::BAD_GATEWAY));
    clock.advance(15 * MINUTE);
    for reads in 2..=4 {
        for _ in 0..10 {
            assert!(is_accepted(&access, &token).await);
        }
        // The second and later reads happen in the background.
        vmafx_testkit::wait::until(Duration::from_secs(10), "a read", || async { issuer.reads() == reads })
            .await
            .unwrap();
        settle(&access, &token).await;
        clock.advance(Duration::from_secs(30));
    }
}

/// Yields until the failed read has ended, after which a call within the cooldown starts none.
async fn settle(access: &Access, token: &str) {
    for _ in 0..50 {
        tokio::task::yield_now().await;
        assert!(is_accepted(access, token).await);
    }
}

#[tokio::test]
async fn callers_get_unavailable_while_the_keys_were_never_read() {
    let issuer = Issuer::start().await;
    let clock = clock();
    let access = issuer.trusted(&clock).await;
    issuer.respond(KeyResponse::Status(StatusCode::SERVICE_UNAVAILABLE));
    for _ in 0..3 {
        assert_unavailable(&access, &issuer.token()).await;
    }
    assert_eq!(issuer.reads(), 1);
}

#[rstest]
#[case::too_many(KeyResponse::Set(json!({"keys": (0..17).map(|n| jwk(&n.to_string(), key(0))).collect::<Vec<_>>()})))]
#[case::too_long(KeyResponse::Bytes(
    format!("{{\"pad\": \"{}\", \"keys\": []}}", "x".repeat(1024 * 1024)).into_bytes()
))]
#[case::no_json(KeyResponse::Bytes(b"<html>".to_vec()))]
#[case::no_keys(KeyResponse::Set(json!({"keys": []})))]
#[tokio::test]
async fn a_key_set_that_is_unusable_in_part_is_not_used_at_all(#[case] response: KeyResponse) {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&clock()).await;
    issuer.respond(response);
    assert_unavailable(&access, &issuer.token()).await;
}

#[tokio::test]
async fn a_redirect_is_followed_without_our_token() {
    let (issuer, other) = (Issuer::start().await, Issuer::start().await);
    issuer.respond(KeyResponse::Redirect(other.endpoint()));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "for-the-cluster\n").unwrap();
    let mut settings = issuer.settings();
    settings.push(("VMAFX_JWKS_TOKEN_FILE", file.to_str().unwrap().to_owned()));
    let access = open(&settings, &clock()).await.unwrap();
    assert!(is_accepted(&access, &issuer.token()).await);
    assert_eq!(issuer.received_tokens(), [Some("Bearer for-the-cluster".to_owned())]);
    assert_eq!(other.received_tokens(), [None]);
}

/// The administrator named 127.0.0.1; whoever answers there may not send the controller to other private hosts.
#[rstest]
#[case::by_name("127.0.0.1", "localhost")]
#[case::by_address("127.0.0.1", "127.0.0.2")]
#[tokio::test]
async fn a_redirect_to_another_private_host_is_not_followed(#[case] named: &str, #[case] elsewhere: &str) {
    let (issuer, other) = (Issuer::start().await, Issuer::start().await);
    assert!(other.endpoint().contains(named));
    issuer.respond(KeyResponse::Redirect(other.endpoint().replace(named, elsewhere)));
    let access = issuer.trusted(&clock()).await;
    assert_unavailable(&access, &issuer.token()).await;
    assert_eq!(other.reads(), 0);
}

#[tokio::test]
async fn an_endless_redirect_is_given_up() {
    let issuer = Issuer::start().await;
    issuer.respond(KeyResponse::Redirect("/keys".to_owned()));
    let access = issuer.trusted(&clock()).await;
    assert_unavailable(&access, &issuer.token()).await;
    assert_eq!(issuer.reads(), 4);
}
