//! The bearer token that is sent with each call.

use std::fmt;
use std::io;
use std::path::PathBuf;

use http::HeaderValue;
use jiff::Timestamp;

use super::args::TOKEN;
use super::jwt;
use crate::config::SecretString;

#[derive(Clone, Debug)]
pub(super) enum TokenSource {
    File(PathBuf),
    Inline(SecretString),
}

impl fmt::Display for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => file.display().fmt(f),
            Self::Inline(_) => f.write_str(TOKEN),
        }
    }
}

/// `origin` is the file, or the variable that holds the token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("cannot read the token in {origin}")]
    Read {
        origin: String,
        #[source]
        source: io::Error,
    },
    #[error("the token in {origin} is empty")]
    Empty { origin: String },
    #[error("the token in {origin} expired at {expiry}")]
    Expired { origin: String, expiry: Timestamp },
    #[error("the token in {origin} contains spaces, line breaks or non-ASCII characters; use the bare token")]
    Invalid { origin: String },
}

impl TokenSource {
    /// The `authorization` header for a call made at `now`. A file is read every time: it is small, and a cached copy
    /// could be outdated.
    pub(super) async fn authorization(&self, now: Timestamp) -> Result<HeaderValue, TokenError> {
        match self {
            Self::File(file) => match tokio::fs::read_to_string(file).await {
                Ok(text) => self.header(&text, now),
                Err(source) => Err(TokenError::Read { origin: self.to_string(), source }),
            },
            Self::Inline(secret) => self.header(secret.reveal(), now),
        }
    }

    fn header(&self, text: &str, now: Timestamp) -> Result<HeaderValue, TokenError> {
        let origin = || self.to_string();
        let token = text.trim();
        if token.is_empty() {
            return Err(TokenError::Empty { origin: origin() });
        }
        if let Some(expiry) = jwt::expiry(token).filter(|expiry| *expiry <= now) {
            return Err(TokenError::Expired { origin: origin(), expiry });
        }
        if token.contains(|c: char| !c.is_ascii_graphic()) {
            return Err(TokenError::Invalid { origin: origin() });
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| TokenError::Invalid { origin: origin() })?;
        // Keeps the value out of debug output and out of the header compression tables of HTTP/2.
        header.set_sensitive(true);
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const EXPIRES: i64 = 1_700_000_000;
    const TOKEN_UNTIL_THEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJub2RlIiwiZXhwIjoxNzAwMDAwMDAwfQ.c2ln";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn header(text: &str, now: i64) -> Result<HeaderValue, String> {
        let source = TokenSource::File("/run/token".into());
        source.header(text, at(now)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_token_is_sent_until_its_last_second() {
        let sent = header(&format!("{TOKEN_UNTIL_THEN}\n"), EXPIRES - 1).unwrap();
        assert_eq!(sent, format!("Bearer {TOKEN_UNTIL_THEN}"));
        assert!(sent.is_sensitive());
    }

    #[test]
    fn an_expired_token_is_not_sent_and_the_error_names_file_and_time() {
        assert_eq!(
            header(TOKEN_UNTIL_THEN, EXPIRES).unwrap_err(),
            "the token in /run/token expired at 2023-11-14T22:13:20Z"
        );
    }

    #[rstest]
    #[case(" \n", "the token in /run/token is empty")]
    #[case(
        "a\nb",
        "the token in /run/token contains spaces, line breaks or non-ASCII characters; use the bare token"
    )]
    #[case(
        "über",
        "the token in /run/token contains spaces, line breaks or non-ASCII characters; use the bare token"
    )]
    fn an_invalid_token_is_not_sent(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(header(text, 0).unwrap_err(), expected);
    }
}
