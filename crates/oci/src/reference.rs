//! `oci://registry/repository:tag` and `oci://registry/repository@sha256:…`.

mod redacted;

use std::fmt;
use std::str::FromStr;

use crate::digest::Digest;
use redacted::redacted;

const MAX_NAME_LENGTH: usize = 255;
const MAX_TAG_LENGTH: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} is not a {what}: use {form} ({problem})")]
pub struct ReferenceError {
    text: String,
    what: &'static str,
    form: &'static str,
    problem: &'static str,
}

/// A repository of a registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repository {
    /// `host` or `host:port`.
    pub registry: String,
    /// The part after the first slash.
    pub name: String,
}

/// One artifact, by tag or by digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArtifactReference {
    pub repository: Repository,
    pub tag: String,
    /// The expected digest of the manifest; it takes precedence over the tag.
    pub digest: Option<Digest>,
}

impl Repository {
    /// Parses `registry/repository`, with or without `oci://`.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let wrong = |problem| ReferenceError {
            text: redacted(text),
            what: "repository",
            form: "registry/repository",
            problem,
        };
        Self::parse_parts(text.strip_prefix("oci://").unwrap_or(text)).map_err(wrong)
    }

    pub fn tagged(&self, tag: impl Into<String>) -> ArtifactReference {
        ArtifactReference { repository: self.clone(), tag: tag.into(), digest: None }
    }

    pub fn pinned(&self, digest: Digest) -> ArtifactReference {
        ArtifactReference { repository: self.clone(), tag: "latest".to_owned(), digest: Some(digest) }
    }

    fn parse_parts(text: &str) -> Result<Self, &'static str> {
        let (registry, name) = text.split_once('/').ok_or("the repository is missing")?;
        // Userinfo is rejected: it would be credentials in a public field.
        let host = !registry.is_empty()
            && registry.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c));
        if !host {
            return Err("the registry must be host or host:port");
        }
        let part = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c))
        };
        if !name.split('/').all(part) || name.len() > MAX_NAME_LENGTH {
            return Err(
                "a repository consists of lower-case letters, digits, dots, dashes and underscores between slashes",
            );
        }
        Ok(Self { registry: registry.to_owned(), name: name.to_owned() })
    }
}

impl ArtifactReference {
    /// Parses `oci://registry/repository`, followed by `:tag`, `@sha256:…` or both.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let wrong = |problem| ReferenceError {
            text: redacted(text),
            what: "model",
            form: "oci://registry/repository:tag or oci://registry/repository@sha256:…",
            problem,
        };
        let rest = text.strip_prefix("oci://").ok_or_else(|| wrong("it does not start with oci://"))?;
        let (location, digest) = match rest.split_once('@') {
            // An @ before the first slash is part of the registry, which has an error of its own.
            Some((before, _)) if !before.contains('/') => (rest, None),
            Some((location, digest)) => {
                let digest = digest
                    .parse()
                    .map_err(|_| wrong("the digest must be sha256: followed by 64 hexadecimal digits"))?;
                (location, Some(digest))
            }
            None => (rest, None),
        };
        // The colon before the first slash belongs to a port.
        let (location, tag) = match location.rsplit_once(':') {
            Some((before, tag)) if before.contains('/') => (before, tag),
            _ => (location, "latest"),
        };
        let repository = Repository::parse_parts(location).map_err(wrong)?;
        if !is_tag(tag) {
            return Err(wrong("a tag consists of letters, digits, dots, dashes and underscores"));
        }
        Ok(Self { repository, tag: tag.to_owned(), digest })
    }

    /// The digest or the tag, as it appears in request paths.
    pub(crate) fn digest_or_tag(&self) -> String {
        self.digest.as_ref().map_or_else(|| self.tag.clone(), Digest::to_string)
    }
}

pub(crate) fn is_tag(text: &str) -> bool {
    text.len() <= MAX_TAG_LENGTH
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

impl FromStr for Repository {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        Self::parse(text)
    }
}

impl FromStr for ArtifactReference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        Self::parse(text)
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.name)
    }
}

impl fmt::Display for ArtifactReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}", self.repository)?;
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
        assert_eq!(ArtifactReference::parse(text).unwrap().to_string(), expected);
    }

    #[test]
    fn a_digest_wins_over_a_tag() {
        let text = format!("oci://host/a/b:tag@{DIGEST}");
        assert_eq!(ArtifactReference::parse(&text).unwrap().to_string(), format!("oci://host/a/b@{DIGEST}"));
    }

    #[rstest]
    #[case("oci://host")]
    #[case("oci://host:5000")]
    #[case("oci:///model")]
    #[case("oci://user:pass@host/model")]
    #[case("oci://host/Model")]
    #[case("oci://host/../model")]
    #[case("oci://host/a//b")]
    #[case("oci://host/model:a/b")]
    #[case("oci://host/model:a?b=c")]
    #[case("oci://host/model:-a")]
    #[case("oci://host/model@sha256:abc")]
    #[case("oci://host/model@sha512:abc")]
    #[case("oci://ho%73t/model")]
    #[case("host/model:a")]
    fn refuses_invalid_references(#[case] text: &str) {
        assert!(ArtifactReference::parse(text).is_err(), "{text}");
    }

    #[test]
    fn an_error_shows_no_password() {
        let error = ArtifactReference::parse("oci://user:hunter2@host/model").unwrap_err().to_string();
        assert!(!error.contains("hunter2") && error.contains("oci://…@host/model is not a model"), "{error}");
        let error = Repository::parse("user:hunter2@host/model").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[rstest]
    #[case("localhost:5000/models", "localhost:5000/models")]
    #[case("oci://r.example/a/b", "r.example/a/b")]
    fn a_repository_is_written_with_or_without_its_scheme(#[case] text: &str, #[case] expected: &str) {
        let repository = Repository::parse(text).unwrap();
        assert_eq!(repository.to_string(), expected);
        assert_eq!(repository.tagged("x").to_string(), format!("oci://{expected}:x"));
        assert_eq!(repository.pinned(Digest::of(b"")).to_string(), format!("oci://{expected}@{DIGEST}"));
    }

    #[rstest]
    #[case("host/model:tag")]
    #[case("host")]
    #[case("https://host/model")]
    #[case("host/")]
    fn a_repository_has_neither_tag_nor_scheme(#[case] text: &str) {
        assert!(Repository::parse(text).is_err(), "{text}");
    }
}
