//! Tokens of one issuer, good and bad.

use aws_lc_rs::hmac;
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rstest::rstest;
use serde_json::{Value, json};
use vmafx_controller::auth::{AuthMetrics, Outcome};
use vmafx_controller::identity::{Role, Roles};
use vmafx_controller::refusal::Refusal;

use crate::issuer::{Hand, Issuer, NOW, counted, jwk, key, mint};

const GOOD: fn() -> Value = || json!({"alg": "RS256", "kid": "first"});

#[tokio::test]
async fn a_good_token_tells_tenant_subject_and_roles() {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&Hand::new()).await;
    let who = access.authenticator.authenticate(Some(&issuer.token())).await.unwrap();
    assert_eq!((who.tenant.as_str(), who.subject.as_str()), ("acme", "somebody"));
    assert_eq!(who.roles, Roles::of(&[Role::Writer]));
}

/// One of the claims replaced; null takes it away.
fn claim(name: &'static str, value: Value) -> impl Fn(&mut Value, &Issuer) {
    move |claims, _| {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
}

#[rstest]
#[case::expired(claim("exp", json!(NOW - 30)), Outcome::Expired)]
#[case::without_end(claim("exp", Value::Null), Outcome::Expired)]
#[case::end_as_text(claim("exp", json!("never")), Outcome::Malformed)]
#[case::premature(claim("nbf", json!(NOW + 31)), Outcome::Premature)]
#[case::other_issuer(claim("iss", json!("https://evil.example")), Outcome::Issuer)]
#[case::no_issuer(claim("iss", Value::Null), Outcome::Issuer)]
#[case::issuer_as_number(claim("iss", json!(7)), Outcome::Malformed)]
#[case::other_audience(claim("aud", json!("others")), Outcome::Audience)]
#[case::other_audiences(claim("aud", json!(["others", "vmafx2"])), Outcome::Audience)]
#[case::no_audience(claim("aud", Value::Null), Outcome::Audience)]
#[tokio::test]
async fn a_token_with_bad_claims_is_refused(
    #[case] spoil: impl Fn(&mut Value, &Issuer),
    #[case] expected: Outcome,
) {
    let issuer = Issuer::start().await;
    let token = issuer.token_with(|claims| spoil(claims, &issuer));
    refused(&issuer, &token, expected).await;
}

#[rstest]
#[case::none(json!({"alg": "none", "kid": "first"}), Outcome::Algorithm)]
#[case::none_in_capitals(json!({"alg": "NONE", "kid": "first"}), Outcome::Algorithm)]
#[case::elliptic(json!({"alg": "ES256", "kid": "first"}), Outcome::Algorithm)]
#[case::longer_hash(json!({"alg": "RS512", "kid": "first"}), Outcome::Algorithm)]
#[case::padding(json!({"alg": "PS256", "kid": "first"}), Outcome::Algorithm)]
#[case::small_letters(json!({"alg": "rs256", "kid": "first"}), Outcome::Algorithm)]
#[case::no_algorithm(json!({"kid": "first"}), Outcome::Malformed)]
#[case::no_key(json!({"alg": "RS256"}), Outcome::UnknownKey)]
#[case::other_key(json!({"alg": "RS256", "kid": "second"}), Outcome::UnknownKey)]
#[case::demand(json!({"alg": "RS256", "kid": "first", "crit": ["exp"]}), Outcome::Malformed)]
#[tokio::test]
async fn a_token_with_a_bad_header_is_refused(#[case] header: Value, #[case] expected: Outcome) {
    let issuer = Issuer::start().await;
    let token = mint(&header, &issuer.claims(), key(0));
    refused(&issuer, &token, expected).await;
}

#[tokio::test]
async fn a_key_of_its_own_under_a_known_name_does_not_help() {
    let issuer = Issuer::start().await;
    let token = mint(&GOOD(), &issuer.claims(), key(1));
    refused(&issuer, &token, Outcome::Signature).await;
}

#[tokio::test]
async fn a_key_inside_the_token_does_not_help() {
    let issuer = Issuer::start().await;
    let header =
        json!({"alg": "RS256", "kid": "first", "jwk": jwk("first", key(1)), "jku": "https://evil/keys"});
    let token = mint(&header, &issuer.claims(), key(1));
    refused(&issuer, &token, Outcome::Signature).await;
}

/// The public key taken for a shared secret: whoever lets the token choose the algorithm accepts this one.
#[tokio::test]
async fn the_public_key_is_no_secret_to_sign_with() {
    let issuer = Issuer::start().await;
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({"alg": "HS256", "kid": "first"});
    let message = format!("{}.{}", encode(&header), encode(&issuer.claims()));
    let secret = hmac::Key::new(hmac::HMAC_SHA256, key(0).public_key().as_ref());
    let token = format!("{message}.{}", URL_SAFE_NO_PAD.encode(hmac::sign(&secret, message.as_bytes())));
    refused(&issuer, &token, Outcome::Algorithm).await;
}

#[tokio::test]
async fn a_token_without_a_signature_is_refused() {
    let issuer = Issuer::start().await;
    let good = issuer.token();
    let (unsigned, _) = good.rsplit_once('.').unwrap();
    refused(&issuer, &format!("{unsigned}."), Outcome::Signature).await;
    refused(&issuer, unsigned, Outcome::Malformed).await;
}

#[tokio::test]
async fn changed_claims_spoil_the_signature() {
    let issuer = Issuer::start().await;
    let (good, other) = (issuer.token(), issuer.token_with(|claims| claims["tid"] = json!("other")));
    let parts: Vec<_> = good.split('.').collect();
    let forged = format!("{}.{}.{}", parts[0], other.split('.').nth(1).unwrap(), parts[2]);
    refused(&issuer, &forged, Outcome::Signature).await;
}

#[rstest]
#[case::garbage("garbage".to_owned(), Outcome::Malformed)]
#[case::dots("a.b.c".to_owned(), Outcome::Malformed)]
#[case::four_parts("e30.e30.e30.e30".to_owned(), Outcome::Malformed)]
#[case::no_json("Zm9v.Zm9v.Zm9v".to_owned(), Outcome::Malformed)]
#[case::long("x".repeat(100_000), Outcome::TooLarge)]
#[case::not_text("é.ü.ö".to_owned(), Outcome::Malformed)]
#[tokio::test]
async fn what_is_no_token_is_refused(#[case] token: String, #[case] expected: Outcome) {
    let issuer = Issuer::start().await;
    refused(&issuer, &token, expected).await;
    assert_eq!(issuer.reads(), 0, "garbage must not make us ask the issuer");
}

#[tokio::test]
async fn no_token_is_refused() {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&Hand::new()).await;
    assert_eq!(access.authenticator.authenticate(None).await, Err(Refusal::Unauthenticated));
}

#[tokio::test]
async fn a_key_of_1024_bits_is_no_key() {
    let issuer = Issuer::start().await;
    let mut weak = jwk("weak", key(0));
    weak["n"] = json!(URL_SAFE_NO_PAD.encode([0xff; 128]));
    issuer.shows(&[weak, jwk("first", key(0))]);
    let token = mint(&json!({"alg": "RS256", "kid": "weak"}), &issuer.claims(), key(0));
    refused(&issuer, &token, Outcome::UnknownKey).await;
}

#[rstest]
#[case::text(json!("vmafx:admin"), &[Role::Admin])]
#[case::list(json!(["vmafx:reader", "vmafx:node"]), &[Role::Reader, Role::Node])]
#[case::unknown(json!(["root", "vmafx:root"]), &[])]
#[case::number(json!(7), &[])]
#[case::absent(Value::Null, &[])]
#[tokio::test]
async fn roles_are_text_or_a_list_and_unknown_ones_are_none(#[case] roles: Value, #[case] expected: &[Role]) {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&Hand::new()).await;
    let token = issuer.token_with(|claims| claims["vmafx_roles"] = roles);
    let who = access.authenticator.authenticate(Some(&token)).await.unwrap();
    assert_eq!(who.roles, Roles::of(expected));
}

#[rstest]
#[case::absent(Value::Null)]
#[case::empty(json!(""))]
#[case::number(json!(7))]
#[case::control(json!("a\u{7}"))]
#[case::long(json!("x".repeat(129)))]
#[tokio::test]
async fn a_good_token_without_a_tenant_says_not_enough(#[case] tenant: Value) {
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&Hand::new()).await;
    let token = issuer.token_with(|claims| claims["tid"] = tenant);
    let refusal = access.authenticator.authenticate(Some(&token)).await.unwrap_err();
    assert_eq!(refusal, Refusal::Incomplete("tenant_id not found in token"));
}

#[tokio::test]
async fn claims_may_have_other_names() {
    let issuer = Issuer::start().await;
    let mut settings = issuer.settings();
    settings.push(("VMAFX_AUTH_TENANT_CLAIM", "org".to_owned()));
    settings.push(("VMAFX_AUTH_ROLES_CLAIM", "groups".to_owned()));
    let access = crate::issuer::open(&settings, &Hand::new()).await.unwrap();
    let token = issuer.token_with(|claims| {
        claims["org"] = json!("studio");
        claims["groups"] = json!("vmafx:reader");
    });
    let who = access.authenticator.authenticate(Some(&token)).await.unwrap();
    assert_eq!((who.tenant.as_str(), who.roles), ("studio", Roles::of(&[Role::Reader])));
}

/// A token that was good is remembered, but not longer than it is good.
#[tokio::test]
async fn a_remembered_token_expires_all_the_same() {
    let issuer = Issuer::start().await;
    let hand = Hand::new();
    let access = issuer.trusted(&hand).await;
    let token = issuer.token_with(|claims| claims["exp"] = json!(NOW + 10));
    for _ in 0..3 {
        access.authenticator.authenticate(Some(&token)).await.unwrap();
    }
    hand.advance(std::time::Duration::from_secs(39));
    access.authenticator.authenticate(Some(&token)).await.unwrap();
    hand.advance(std::time::Duration::from_secs(1));
    assert_eq!(access.authenticator.authenticate(Some(&token)).await, Err(Refusal::Unauthenticated));
}

/// The caller learns one thing, the metric another.
async fn refused(issuer: &Issuer, token: &str, expected: Outcome) {
    let metrics = AuthMetrics::default();
    let access = counted(&issuer.settings(), &Hand::new(), metrics.clone()).await.unwrap();
    let refusal = access.authenticator.authenticate(Some(token)).await.unwrap_err();
    assert_eq!(refusal, Refusal::Unauthenticated);
    assert_eq!(metrics.calls(expected), 1, "refused for another reason than {expected:?}");
}
