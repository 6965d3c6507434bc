//! `oci://registry/repository:tag` and `oci://registry/repository@sha256:…`.

mod shown;

use std::fmt;
use std::str::FromStr;

use crate::digest::Digest;
use shown::shown;

/// Longest name of a repository.
const NAME: usize = 255;
/// Longest tag.
const TAG: usize = 128;

/// Why a text names nothing in a registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{shown} is no {what}: write {form} ({problem})")]
pub struct ReferenceError {
    shown: String,
    what: &'static str,
    form: &'static str,
    problem: &'static str,
}

/// A place in a registry where artifacts lie.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repository {
    /// `host` or `host:port`.
    pub registry: String,
    /// What stands behind the first slash.
    pub name: String,
}

/// One artifact, by tag or by digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Where it lies.
    pub repository: Repository,
    /// Used if there is no digest.
    pub tag: String,
    /// What it must be, if that is said.
    pub digest: Option<Digest>,
}

impl Repository {
    /// Reads `registry/repository`, with or without `oci://`.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let wrong = |problem| ReferenceError {
            shown: shown(text),
            what: "repository",
            form: "registry/repository",
            problem,
        };
        Self::read(text.strip_prefix("oci://").unwrap_or(text)).map_err(wrong)
    }

    /// What a tag means here.
    pub fn tagged(&self, tag: impl Into<String>) -> Reference {
        Reference { repository: self.clone(), tag: tag.into(), digest: None }
    }

    /// What has this digest here.
    pub fn pinned(&self, digest: Digest) -> Reference {
        Reference { repository: self.clone(), tag: "latest".to_owned(), digest: Some(digest) }
    }

    fn read(text: &str) -> Result<Self, &'static str> {
        let (registry, name) = text.split_once('/').ok_or("there is no repository")?;
        // Userinfo would be credentials in a place where everybody sees them.
        let host = !registry.is_empty()
            && registry.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c));
        if !host {
            return Err("the registry is host or host:port");
        }
        let part = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c))
        };
        if !name.split('/').all(part) || name.len() > NAME {
            return Err("a repository has lower-case letters, digits, dots and dashes between its slashes");
        }
        Ok(Self { registry: registry.to_owned(), name: name.to_owned() })
    }
}

impl Reference {
    /// Reads `oci://registry/repository`, with `:tag`, `@sha256:…` or both behind it.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let wrong = |problem| ReferenceError {
            shown: shown(text),
            what: "model",
            form: "oci://registry/repository:tag or oci://registry/repository@sha256:…",
            problem,
        };
        let rest = text.strip_prefix("oci://").ok_or_else(|| wrong("it does not begin with oci://"))?;
        let (place, digest) = match rest.split_once('@') {
            // What stands before the first slash is the registry, and its fault is told by its own rule.
            Some((before, _)) if !before.contains('/') => (rest, None),
            Some((place, digest)) => {
                let digest = digest.parse().map_err(|_| wrong("the digest is sha256: and 64 digits"))?;
                (place, Some(digest))
            }
            None => (rest, None),
        };
        // The colon before the first slash belongs to a port.
        let (place, tag) = match place.rsplit_once(':') {
            Some((before, tag)) if before.contains('/') => (before, tag),
            _ => (place, "latest"),
        };
        let repository = Repository::read(place).map_err(wrong)?;
        if !is_tag(tag) {
            return Err(wrong("a tag has letters, digits, dots and dashes"));
        }
        Ok(Self { repository, tag: tag.to_owned(), digest })
    }

    /// The digest or the tag, as requests have it.
    pub(crate) fn wanted(&self) -> String {
        self.digest.as_ref().map_or_else(|| self.tag.clone(), Digest::to_string)
    }
}

/// Whether a registry takes this as a tag.
pub(crate) fn is_tag(text: &str) -> bool {
    text.len() <= TAG
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

impl FromStr for Repository {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        Self::parse(text)
    }
}

impl FromStr for Reference {
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

impl fmt::Display for Reference {
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
        assert_eq!(Reference::parse(text).unwrap().to_string(), expected);
    }

    #[test]
    fn a_digest_wins_over_a_tag() {
        let text = format!("oci://host/a/b:tag@{DIGEST}");
        assert_eq!(Reference::parse(&text).unwrap().to_string(), format!("oci://host/a/b@{DIGEST}"));
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
    fn refuses_what_no_registry_has(#[case] text: &str) {
        assert!(Reference::parse(text).is_err(), "{text}");
    }

    #[test]
    fn a_refusal_shows_no_password() {
        let error = Reference::parse("oci://user:hunter2@host/model").unwrap_err().to_string();
        assert!(!error.contains("hunter2") && error.contains("oci://…@host/model is no model"), "{error}");
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
    fn a_repository_is_nothing_more(#[case] text: &str) {
        assert!(Repository::parse(text).is_err(), "{text}");
    }
}
