//! Addresses of clips and reports, as jobs have them.

use std::path::PathBuf;

use url::Url;
use vmafx_job::{Failure, FailureReason};

use super::redacted::Redacted;

/// How often an address is decoded in the search for hidden steps upwards. Servers decode once; proxies in front of
/// them sometimes once more.
const DECODINGS: usize = 3;

/// Where something lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file of this machine: absolute, without `.` and `..`.
    File(PathBuf),
    /// `http` or `https`.
    Http(Box<Url>),
    /// In a store that we speak to ourselves.
    Object(ObjectAddress),
    /// In a store that rclone speaks to.
    Rclone {
        /// The name of a configured remote.
        remote: String,
        /// What is there.
        path: String,
    },
}

/// An object in a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectAddress {
    /// Which kind of store.
    pub store: Store,
    /// Bucket or container.
    pub bucket: String,
    /// Its name, without a slash at the beginning.
    pub key: String,
}

/// Stores that we speak to ourselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Store {
    /// `s3://`
    S3,
    /// `gs://`
    Gcs,
    /// `azure://` or `az://`
    Azure,
}

impl Store {
    /// What its addresses begin with.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "azure",
        }
    }

    fn of_scheme(scheme: &str) -> Option<Self> {
        match scheme {
            "s3" | "s3a" => Some(Self::S3),
            "gs" => Some(Self::Gcs),
            "azure" | "az" => Some(Self::Azure),
            _ => None,
        }
    }
}

/// Why a text is no address. The texts hold no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Neither a path nor a URI.
    #[error(
        "{address} is neither an absolute path nor an address such as s3://bucket/key or https://host/path"
    )]
    NotAnAddress {
        /// As it may be shown.
        address: String,
    },
    /// `file://host/…`
    #[error("{address} names another machine: write file:///path")]
    OtherHost {
        /// As it may be shown.
        address: String,
    },
    /// `s3://bucket`
    #[error("{address} names no object: write {scheme}://bucket/key")]
    NoKey {
        /// As it may be shown.
        address: String,
        /// The store.
        scheme: &'static str,
    },
    /// `s3://b u/key`
    #[error("{address} names no bucket: its name has letters, digits, dots, dashes and underscores")]
    Bucket {
        /// As it may be shown.
        address: String,
    },
    /// `..`
    #[error("{address} holds a step upwards (\"..\"), which is not allowed")]
    Upwards {
        /// As it may be shown.
        address: String,
    },
    /// rclone's own notation for remotes that are not configured.
    #[error(
        "{address} carries options of rclone: only remotes of VMAFX_RCLONE_CONFIG may be used, by their names"
    )]
    Options {
        /// As it may be shown.
        address: String,
    },
}

impl From<AddressError> for Failure {
    fn from(error: AddressError) -> Self {
        let reason = match error {
            AddressError::Upwards { .. } | AddressError::Options { .. } => FailureReason::InputDenied,
            _ => FailureReason::InputInvalid,
        };
        Self::new(reason, error.to_string())
    }
}

impl Address {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let shown = || Redacted(text).to_string();
        let not = || AddressError::NotAnAddress { address: shown() };
        if text.contains('\0') {
            return Err(not());
        }
        if climbs(text) {
            return Err(AddressError::Upwards { address: shown() });
        }
        if text.starts_with('/') {
            return Ok(Self::File(PathBuf::from(text).components().collect()));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return remote(text).ok_or_else(not)?.map_err(|()| AddressError::Options { address: shown() });
        };
        let scheme = scheme.to_ascii_lowercase();
        if let Some(store) = Store::of_scheme(&scheme) {
            let none = AddressError::NoKey { address: shown(), scheme: store.scheme() };
            let (bucket, key) = rest.split_once('/').filter(|(_, key)| !key.is_empty()).ok_or(none)?;
            // It becomes a part of a host's name or of a path, and what is no name there stops the client for good.
            if !is_bucket(bucket) {
                return Err(AddressError::Bucket { address: shown() });
            }
            return Ok(Self::Object(ObjectAddress { store, bucket: bucket.to_owned(), key: key.to_owned() }));
        }
        match scheme.as_str() {
            "file" => {
                let url = Url::parse(text).map_err(|_| not())?;
                let path = url.to_file_path().map_err(|()| AddressError::OtherHost { address: shown() })?;
                Ok(Self::File(path))
            }
            "http" | "https" => {
                let url = Url::parse(text).map_err(|_| not())?;
                if url.has_host() { Ok(Self::Http(Box::new(url))) } else { Err(not()) }
            }
            "rclone" => {
                remote(rest).ok_or_else(not)?.map_err(|()| AddressError::Options { address: shown() })
            }
            // The remote is called like the scheme: sftp://user@host/a is what rclone calls sftp:user@host/a.
            _ => remote(&format!("{scheme}:{rest}"))
                .ok_or_else(not)?
                .map_err(|()| AddressError::Options { address: shown() }),
        }
    }
}

fn is_bucket(name: &str) -> bool {
    (1..=255).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// `remote:path`; nothing if it is no such thing, an error if it carries options.
fn remote(text: &str) -> Option<Result<Address, ()>> {
    let (remote, path) = text.split_once(':')?;
    // `:backend:` and `remote,option=value:` make remotes on the fly, also one that is this machine's own disk.
    if remote.is_empty() || remote.contains([',', '=', '\'', '"']) {
        return Some(Err(()));
    }
    let named = remote.chars().all(|c| c.is_alphanumeric() || "_.-+@ ".contains(c))
        && !remote.starts_with(['-', ' ']);
    (named && !path.is_empty())
        .then(|| Ok(Address::Rclone { remote: remote.to_owned(), path: path.to_owned() }))
}

/// Whether any part of it is `..`, however it is encoded.
fn climbs(text: &str) -> bool {
    // Only in a URL do these end the path; in the name of a file or an object they are characters like any other.
    let web = ["http:", "https:"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let path = if web { text.split(['?', '#']).next().unwrap_or_default() } else { text };
    let mut text = path.to_owned();
    for _ in 0..DECODINGS {
        if text.split(['/', '\\', ':']).any(|part| part == "..") {
            return true;
        }
        text = decoded(&text);
    }
    false
}

/// Percent-decoded once.
pub(super) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn object(store: Store, bucket: &str, key: &str) -> Address {
        Address::Object(ObjectAddress { store, bucket: bucket.into(), key: key.into() })
    }

    fn rclone(remote: &str, path: &str) -> Address {
        Address::Rclone { remote: remote.into(), path: path.into() }
    }

    #[rstest]
    #[case("/media//a/./b.y4m", Address::File("/media/a/b.y4m".into()))]
    #[case("/media/a..b/c?d", Address::File("/media/a..b/c?d".into()))]
    #[case("file:///media/a%20b.y4m", Address::File("/media/a b.y4m".into()))]
    #[case("s3://bucket/a b/c.y4m", object(Store::S3, "bucket", "a b/c.y4m"))]
    #[case("S3://bucket/c", object(Store::S3, "bucket", "c"))]
    #[case("gs://bucket/c", object(Store::Gcs, "bucket", "c"))]
    #[case("azure://clips/c", object(Store::Azure, "clips", "c"))]
    #[case("az://clips/c", object(Store::Azure, "clips", "c"))]
    #[case("box:a/b.y4m", rclone("box", "a/b.y4m"))]
    #[case("rclone://box:a/b.y4m", rclone("box", "a/b.y4m"))]
    #[case("sftp://user@host/a.y4m", rclone("sftp", "user@host/a.y4m"))]
    #[case("https://host/a?b=/../c", Address::Http(Box::new("https://host/a?b=/../c".parse().unwrap())))]
    #[case("https://host/a", Address::Http(Box::new("https://host/a".parse().unwrap())))]
    fn reads_every_kind(#[case] text: &str, #[case] expected: Address) {
        assert_eq!(Address::parse(text), Ok(expected));
    }

    #[rstest]
    #[case("/media/../etc/passwd")]
    #[case("file:///media/%2e%2e/etc")]
    #[case("https://host/media/../x")]
    #[case("https://host/media/%2E%2e/x")]
    #[case("https://host/media/..%2fx")]
    #[case("https://host/media/%252e%252e%252fx")]
    #[case("https://host/media\\..\\x")]
    #[case("s3://bucket/a/../b")]
    #[case("box:../b")]
    #[case("box:a/..")]
    #[case("/media/#/../etc")]
    #[case("s3://bucket/a?/../b")]
    fn no_spelling_of_upwards_is_taken(#[case] text: &str) {
        assert!(matches!(Address::parse(text), Err(AddressError::Upwards { .. })), "{text}");
    }

    #[rstest]
    #[case(":local:/etc/passwd")]
    #[case("box,type=local:/etc/passwd")]
    #[case("rclone://:local:/etc/passwd")]
    #[case("rclone://box,pass=x:a")]
    #[case("://x")]
    fn no_remote_is_made_on_the_fly(#[case] text: &str) {
        assert!(matches!(Address::parse(text), Err(AddressError::Options { .. })), "{text}");
    }

    #[rstest]
    #[case("")]
    #[case("clip.y4m")]
    #[case("media/clip.y4m")]
    #[case("box:")]
    #[case("-box:a")]
    #[case("http://")]
    #[case("http://ho st/")]
    #[case("/media/a\0b")]
    fn what_is_no_address_is_refused(#[case] text: &str) {
        assert!(matches!(Address::parse(text), Err(AddressError::NotAnAddress { .. })), "{text}");
    }

    #[test]
    fn an_address_without_a_key_or_of_another_host_is_refused() {
        assert!(matches!(Address::parse("s3://bucket"), Err(AddressError::NoKey { .. })));
        assert!(matches!(Address::parse("s3://bucket/"), Err(AddressError::NoKey { .. })));
        assert!(matches!(Address::parse("file://host/a"), Err(AddressError::OtherHost { .. })));
    }

    #[rstest]
    #[case("s3:///key")]
    #[case("s3://b u/key")]
    #[case("s3://user:secret@bucket/key")]
    #[case("s3://bucket:80/key")]
    #[case("s3://bücket/key")]
    #[case("gs://%62ucket/key")]
    fn what_no_bucket_is_called_is_refused(#[case] text: &str) {
        assert!(matches!(Address::parse(text), Err(AddressError::Bucket { .. })), "{text}");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_path_climbs(text in "(/|s3://|https?://|file://|[a-z]{0,4}:)?[a-z.%2eEfF/\\\\:,=@?#]{0,30}") {
            if let Ok(Address::File(path)) = Address::parse(&text) {
                prop_assert!(path.is_absolute());
                prop_assert!(path.components().all(|part| part != std::path::Component::ParentDir));
            }
        }
    }
}
