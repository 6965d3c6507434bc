//! The expiry claim of a JSON Web Token. Nothing is verified here: that is the server's task.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use jiff::Timestamp;
use serde::Deserialize;

#[derive(Deserialize)]
struct Claims {
    exp: Option<f64>,
}

/// `None` when the token has no expiry, or is not a JSON Web Token.
pub(super) fn expiry(token: &str) -> Option<Timestamp> {
    let mut parts = token.split('.');
    let (_header, payload, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let claims: Claims = serde_json::from_slice(&BASE64URL.decode(payload).ok()?).ok()?;
    let seconds = claims.exp?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a cast from float saturates, and the range is checked"
    )]
    let whole = seconds.floor() as i64;
    let latest = if seconds < 0.0 { Timestamp::MIN } else { Timestamp::MAX };
    Some(Timestamp::from_second(whole).unwrap_or(latest))
}

/// The URL-safe alphabet, with or without padding.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    // {"alg":"RS256"} . {"sub":"node","exp":1700000000} . signature
    const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJub2RlIiwiZXhwIjoxNzAwMDAwMDAwfQ.c2ln";

    #[test]
    fn reads_the_expiry_of_a_web_token() {
        assert_eq!(expiry(TOKEN), Some(Timestamp::from_second(1_700_000_000).unwrap()));
    }

    #[test]
    fn padding_is_allowed_though_tokens_have_none() {
        // {"exp":17}
        assert_eq!(expiry("e30.eyJleHAiOjE3fQ==.c2ln"), Some(Timestamp::from_second(17).unwrap()));
    }

    #[rstest]
    #[case::opaque("s3cr3t")]
    #[case::two_parts("a.b")]
    #[case::four_parts("a.e30.c.d")]
    #[case::no_expiry("e30.e30.c2ln")]
    #[case::no_json("e30.Zm9v.c2ln")]
    fn other_tokens_have_no_expiry(#[case] token: &str) {
        assert_eq!(expiry(token), None);
    }

    #[test]
    fn an_expiry_beyond_all_calendars_is_the_last_day() {
        // {"exp":1e300}
        assert_eq!(expiry("e30.eyJleHAiOjFlMzAwfQ.c2ln"), Some(Timestamp::MAX));
    }

    proptest! {
        #[test]
        fn no_token_panics(token in "[-_.=A-Za-z0-9]{0,60}") {
            expiry(&token);
        }
    }
}
