//! `oci://registry/repository:tag` and `oci://registry/repository@sha256:…`.

use std::fmt;
use std::str::FromStr;

use crate::failure::{Failure, Reason};
use crate::paths::Redacted;

/// A SHA-256 digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digest(String);

impl Digest {
    /// 64 hexadecimal digits.
    pub(super) fn hex(&self) -> &str {
        &self.0
    }

    /// Of these bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self::from_hash(&sha2::Sha256::digest(bytes))
    }

    pub(super) fn from_hash(hash: &[u8]) -> Self {
        use fmt::Write as _;
        Self(hash.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl FromStr for Digest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let hex = text.strip_prefix("sha256:").ok_or(())?;
        let valid =
            hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        valid.then(|| Self(hex.to_owned())).ok_or(())
    }
}

/// Why a text names no artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{shown} is no model: write oci://registry/repository:tag or oci://registry/repository@sha256:… ({problem})"
)]
pub struct ReferenceError {
    shown: String,
    problem: &'static str,
}

impl From<ReferenceError> for Failure {
    fn from(error: ReferenceError) -> Self {
        Self::new(Reason::ModelNotFound, error.to_string())
    }
}

/// What is asked of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// `host` or `host:port`.
    pub(super) registry: String,
    pub(super) repository: String,
    /// Used if there is no digest.
    pub(super) tag: String,
    pub(super) digest: Option<Digest>,
}

impl Reference {
    pub(super) fn parse(text: &str) -> Result<Self, ReferenceError> {
        let wrong = |problem| ReferenceError { shown: Redacted(text).to_string(), problem };
        let rest = text.strip_prefix("oci://").ok_or_else(|| wrong("it does not begin with oci://"))?;
        let (registry, rest) = rest.split_once('/').ok_or_else(|| wrong("there is no repository"))?;
        // Userinfo would be credentials in a place where everybody sees them.
        let host = !registry.is_empty()
            && registry.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c));
        if !host {
            return Err(wrong("the registry is host or host:port"));
        }
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => {
                (rest, Some(digest.parse().map_err(|()| wrong("the digest is sha256: and 64 digits"))?))
            }
            None => (rest, None),
        };
        let (repository, tag) = rest.rsplit_once(':').unwrap_or((rest, "latest"));
        let part = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c))
        };
        if !repository.split('/').all(part) || repository.len() > 255 {
            return Err(wrong(
                "a repository has lower-case letters, digits, dots and dashes between its slashes",
            ));
        }
        let tagged = tag.len() <= 128
            && tag.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && tag.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if !tagged {
            return Err(wrong("a tag has letters, digits, dots and dashes"));
        }
        Ok(Self {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.to_owned(),
            digest,
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.registry, self.repository)?;
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => write!(f, ":{}", self.tag),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[rstest]
    #[case("oci://registry.example.com/team/model:v000007", "oci://registry.example.com/team/model:v000007")]
    #[case("oci://localhost:5000/model", "oci://localhost:5000/model:latest")]
    #[case("oci://[::1]:5000/model:a", "oci://[::1]:5000/model:a")]
    fn reads_and_writes_tags(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(Reference::parse(text).unwrap().to_string(), expected);
    }

    #[test]
    fn a_digest_wins_over_a_tag() {
        let text = format!("oci://host/a/b:tag@{DIGEST}");
        assert_eq!(Reference::parse(&text).unwrap().to_string(), format!("oci://host/a/b@{DIGEST}"));
        assert_eq!(Digest::of(b"").to_string(), DIGEST);
    }

    #[rstest]
    #[case("oci://host")]
    #[case("oci:///model")]
    #[case("oci://user:pass@host/model")]
    #[case("oci://host/Model")]
    #[case("oci://host/../model")]
    #[case("oci://host/a//b")]
    #[case("oci://host/model:a/b")]
    #[case("oci://host/model:a?b=c")]
    #[case("oci://host/model@sha256:abc")]
    #[case("oci://host/model@sha512:abc")]
    #[case("oci://ho%73t/model")]
    fn refuses_what_no_registry_has(#[case] text: &str) {
        assert!(Reference::parse(text).is_err(), "{text}");
    }
}
