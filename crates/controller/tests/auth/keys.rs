//! Keys that change, and servers that do not answer.

use std::time::Duration;

use axum::http::StatusCode;
use rstest::rstest;
use serde_json::json;
use vmafx_controller::auth::Access;
use vmafx_controller::refusal::Refusal;

use crate::issuer::{Answer, Hand, Issuer, jwk, key, mint, open};

const MINUTE: Duration = Duration::from_mins(1);

/// A token that names another key than the first.
fn signed_by(issuer: &Issuer, kid: &str, number: usize) -> String {
    mint(&json!({"alg": "RS256", "kid": kid}), &issuer.claims(), key(number))
}

async fn is_good(access: &Access, token: &str) -> bool {
    match access.authenticator.authenticate(Some(token)).await {
        Ok(_) => true,
        Err(Refusal::Unauthenticated) => false,
        Err(other) => panic!("{other:?}"),
    }
}

/// The claims of a test end after an hour; here they must last.
fn lasting(issuer: &Issuer) -> String {
    issuer.token_with(|claims| claims["exp"] = json!(4_000_000_000_i64))
}

#[tokio::test]
async fn keys_are_read_once_for_many_tokens() {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&Hand::new()).await;
    for subject in 0..20 {
        let token = issuer.token_with(|claims| claims["sub"] = json!(subject.to_string()));
        assert!(is_good(&access, &token).await);
    }
    assert_eq!(issuer.reads(), 1);
}

#[tokio::test]
async fn a_new_key_is_found_once_the_cooldown_is_over() {
    let issuer = Issuer::start().await;
    let hand = Hand::new();
    let access = issuer.trusted(&hand).await;
    assert!(is_good(&access, &issuer.token()).await);
    issuer.shows(&[jwk("first", key(0)), jwk("second", key(1))]);
    let new = signed_by(&issuer, "second", 1);

    hand.advance(Duration::from_secs(29));
    for _ in 0..10 {
        assert!(!is_good(&access, &new).await, "asked again before the cooldown was over");
    }
    assert_eq!(issuer.reads(), 1);
    hand.advance(Duration::from_secs(1));
    assert!(is_good(&access, &new).await);
    assert_eq!(issuer.reads(), 2);
}

#[tokio::test]
async fn unknown_keys_cannot_make_us_ask_more_often() {
    let issuer = Issuer::start().await;
    let hand = Hand::new();
    let access = issuer.trusted(&hand).await;
    for round in 1..=3 {
        let guesses =
            (0..50).map(|guess| signed_by(&issuer, &format!("guess-{guess}"), 1)).collect::<Vec<_>>();
        let tries = guesses.iter().map(|token| is_good(&access, token));
        assert_eq!(futures::future::join_all(tries).await, vec![false; 50]);
        assert_eq!(issuer.reads(), round);
        hand.advance(Duration::from_secs(30));
    }
}

/// Whoever starts a read and hangs up must neither stop it nor make others begin anew.
#[tokio::test]
async fn a_caller_who_hangs_up_leaves_the_read_to_the_next() {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&Hand::new()).await;
    let token = issuer.token();
    for _ in 0..5 {
        let mut call = Box::pin(access.authenticator.authenticate(Some(&token)));
        assert!(futures::poll!(call.as_mut()).is_pending());
    }
    assert!(is_good(&access, &token).await);
    assert_eq!(issuer.reads(), 1);
}

#[tokio::test]
async fn a_key_that_was_taken_back_is_good_for_at_most_fifteen_minutes() {
    let issuer = Issuer::start().await;
    let hand = Hand::new();
    let access = issuer.trusted(&hand).await;
    let token = lasting(&issuer);
    assert!(is_good(&access, &token).await);
    issuer.shows(&[jwk("second", key(1))]);
    hand.advance(14 * MINUTE);
    assert!(is_good(&access, &token).await);
    assert_eq!(issuer.reads(), 1);
    hand.advance(MINUTE);
    assert!(!is_good(&access, &token).await, "the key is gone, and the token was remembered");
    assert_eq!(issuer.reads(), 2);
}

#[tokio::test]
async fn another_key_of_the_same_name_ends_what_the_first_one_signed() {
    let issuer = Issuer::start().await;
    let hand = Hand::new();
    let access = issuer.trusted(&hand).await;
    let token = lasting(&issuer);
    assert!(is_good(&access, &token).await);
    issuer.shows(&[jwk("first", key(1))]);
    hand.advance(15 * MINUTE);
    assert!(!is_good(&access, &token).await);
}

#[tokio::test]
async fn keys_outlive_their_server_by_a_day() {
    let issuer = Issuer::start().await;
    let hand = Hand::new();
    let access = issuer.trusted(&hand).await;
    let token = lasting(&issuer);
    assert!(is_good(&access, &token).await);
    issuer.answers(Answer::Status(StatusCode::INTERNAL_SERVER_ERROR));
    hand.advance(Duration::from_secs(24 * 60 * 60 - 1));
    assert!(is_good(&access, &token).await);
    assert!(!is_good(&access, &signed_by(&issuer, "second", 1)).await);

    hand.advance(Duration::from_secs(1));
    let refusal = access.authenticator.authenticate(Some(&token)).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Unavailable(_)), "{refusal:?}");

    issuer.shows(&[jwk("first", key(0))]);
    hand.advance(Duration::from_secs(30));
    assert!(is_good(&access, &token).await);
}

#[tokio::test]
async fn keys_of_yesterday_are_not_used_even_if_nobody_asked_meanwhile() {
    let issuer = Issuer::start().await;
    let hand = Hand::new();
    let access = issuer.trusted(&hand).await;
    let token = lasting(&issuer);
    assert!(is_good(&access, &token).await);
    issuer.answers(Answer::Status(StatusCode::INTERNAL_SERVER_ERROR));
    hand.advance(25 * 60 * MINUTE);
    let refusal = access.authenticator.authenticate(Some(&token)).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Unavailable(_)), "{refusal:?}");
}

#[tokio::test]
async fn while_the_server_is_down_it_is_asked_every_half_minute_and_nobody_waits() {
    let issuer = Issuer::start().await;
    let hand = Hand::new();
    let access = issuer.trusted(&hand).await;
    let token = lasting(&issuer);
    assert!(is_good(&access, &token).await);
    issuer.answers(Answer::Status(StatusCode::BAD_GATEWAY));
    hand.advance(15 * MINUTE);
    for reads in 2..=4 {
        for _ in 0..10 {
            assert!(is_good(&access, &token).await);
        }
        // The second and later ones are read behind our back.
        vmafx_testkit::wait::until(10 * Duration::from_secs(1), "a read", || async {
            issuer.reads() == reads
        })
        .await
        .unwrap();
        settle(&access, &token).await;
        hand.advance(Duration::from_secs(30));
    }
}

/// Until the failed read is known to be over: then a call within the cooldown begins none.
async fn settle(access: &Access, token: &str) {
    for _ in 0..50 {
        tokio::task::yield_now().await;
        assert!(is_good(access, token).await);
    }
}

#[tokio::test]
async fn keys_that_were_never_read_are_no_fault_of_the_caller() {
    let issuer = Issuer::start().await;
    let hand = Hand::new();
    let access = issuer.trusted(&hand).await;
    issuer.answers(Answer::Status(StatusCode::SERVICE_UNAVAILABLE));
    for _ in 0..3 {
        let refusal = access.authenticator.authenticate(Some(&issuer.token())).await.unwrap_err();
        assert!(matches!(refusal, Refusal::Unavailable(_)), "{refusal:?}");
    }
    assert_eq!(issuer.reads(), 1);
}

#[rstest]
#[case::too_many(Answer::Set(json!({"keys": (0..17).map(|n| jwk(&n.to_string(), key(0))).collect::<Vec<_>>()})))]
#[case::too_long(Answer::Bytes(
    format!("{{\"pad\": \"{}\", \"keys\": []}}", "x".repeat(1024 * 1024)).into_bytes()
))]
#[case::no_json(Answer::Bytes(b"<html>".to_vec()))]
#[case::no_keys(Answer::Set(json!({"keys": []})))]
#[tokio::test]
async fn a_set_that_cannot_be_used_whole_is_not_used_at_all(#[case] answer: Answer) {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&Hand::new()).await;
    issuer.answers(answer);
    let refusal = access.authenticator.authenticate(Some(&issuer.token())).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Unavailable(_)), "{refusal:?}");
}

#[tokio::test]
async fn a_redirect_is_followed_and_our_token_goes_to_nobody_else() {
    let (issuer, other) = (Issuer::start().await, Issuer::start().await);
    issuer.answers(Answer::Redirect(other.endpoint()));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "for-the-cluster\n").unwrap();
    let mut settings = issuer.settings();
    settings.push(("VMAFX_JWKS_TOKEN_FILE", file.to_str().unwrap().to_owned()));
    let access = open(&settings, &Hand::new()).await.unwrap();
    assert!(is_good(&access, &issuer.token()).await);
    assert_eq!(issuer.tokens_seen(), [Some("Bearer for-the-cluster".to_owned())]);
    assert_eq!(other.tokens_seen(), [None]);
}

#[tokio::test]
async fn redirects_end() {
    let issuer = Issuer::start().await;
    issuer.answers(Answer::Redirect("/keys".to_owned()));
    let access = issuer.trusted(&Hand::new()).await;
    let refusal = access.authenticator.authenticate(Some(&issuer.token())).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Unavailable(_)), "{refusal:?}");
    assert_eq!(issuer.reads(), 4);
}
