//! Addresses of clips and reports.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use url::Url;
use vmafx_job::{Failure, FailureReason};

use super::redacted_uri::RedactedUri;

/// How often an address is percent-decoded in the search for `..`. Servers decode once, and proxies in front of them
/// sometimes once more.
const MAX_DECODINGS: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A local file: absolute, without `.` and `..`.
    File(PathBuf),
    Http(Box<Url>),
    /// In a store that `object_store` has a client for.
    Object(ObjectAddress),
    /// In a store that rclone has a client for.
    Rclone {
        /// Name of a configured remote.
        remote: String,
        path: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectAddress {
    pub store: ObjectStoreKind,
    /// Bucket, or container in Azure.
    pub bucket: String,
    /// Without a slash at the beginning.
    pub key: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectStoreKind {
    /// `s3://`
    S3,
    /// `gs://`
    Gcs,
    /// `azure://` or `az://`
    Azure,
}

impl ObjectStoreKind {
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

/// Why a text is not an address. `address` is redacted, so the messages contain no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(
        "{address} is neither an absolute path nor an address such as s3://bucket/key or https://host/path"
    )]
    NotAnAddress { address: String },
    /// `file://host/…`
    #[error("{address} names another machine; use file:///path")]
    OtherHost { address: String },
    /// `s3://bucket`
    #[error("{address} names no object; use {scheme}://bucket/key")]
    NoKey { address: String, scheme: &'static str },
    /// `s3://b u/key`
    #[error("{address} has no valid bucket name; use letters, digits, dots, dashes and underscores")]
    Bucket { address: String },
    #[error("{address} contains \"..\", which is not allowed")]
    ParentSegment { address: String },
    /// rclone's syntax for remotes that are not configured.
    #[error("{address} contains options of rclone; use the name of a remote in VMAFX_RCLONE_CONFIG")]
    RcloneOptions { address: String },
}

impl From<AddressError> for Failure {
    fn from(error: AddressError) -> Self {
        let reason = match error {
            AddressError::ParentSegment { .. } | AddressError::RcloneOptions { .. } => {
                FailureReason::InputDenied
            }
            _ => FailureReason::InputInvalid,
        };
        Self::new(reason, error.to_string())
    }
}

impl Address {
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let redacted = || RedactedUri(text).to_string();
        let not = || AddressError::NotAnAddress { address: redacted() };
        if text.contains('\0') {
            return Err(not());
        }
        if has_parent_segment(text) {
            return Err(AddressError::ParentSegment { address: redacted() });
        }
        if text.starts_with('/') {
            return Ok(Self::File(PathBuf::from(text).components().collect()));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return remote(text)
                .ok_or_else(not)?
                .map_err(|()| AddressError::RcloneOptions { address: redacted() });
        };
        let scheme = scheme.to_ascii_lowercase();
        if let Some(store) = ObjectStoreKind::of_scheme(&scheme) {
            let none = AddressError::NoKey { address: redacted(), scheme: store.scheme() };
            let (bucket, key) = rest.split_once('/').filter(|(_, key)| !key.is_empty()).ok_or(none)?;
            // The bucket becomes part of a host name or a path, where an invalid name would make the client panic.
            if !is_bucket(bucket) {
                return Err(AddressError::Bucket { address: redacted() });
            }
            return Ok(Self::Object(ObjectAddress { store, bucket: bucket.to_owned(), key: key.to_owned() }));
        }
        match scheme.as_str() {
            "file" => {
                let url = Url::parse(text).map_err(|_| not())?;
                let path =
                    url.to_file_path().map_err(|()| AddressError::OtherHost { address: redacted() })?;
                Ok(Self::File(path))
            }
            "http" | "https" => {
                let url = Url::parse(text).map_err(|_| not())?;
                if url.has_host() { Ok(Self::Http(Box::new(url))) } else { Err(not()) }
            }
            "rclone" => remote(rest)
                .ok_or_else(not)?
                .map_err(|()| AddressError::RcloneOptions { address: redacted() }),
            // The remote has the name of the scheme: sftp://user@host/a is sftp:user@host/a in the syntax of rclone.
            _ => remote(&format!("{scheme}:{rest}"))
                .ok_or_else(not)?
                .map_err(|()| AddressError::RcloneOptions { address: redacted() }),
        }
    }
}

fn is_bucket(name: &str) -> bool {
    (1..=255).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Parses `remote:path`; `None` if the text has another form, an error if it contains options.
fn remote(text: &str) -> Option<Result<Address, ()>> {
    let (remote, path) = text.split_once(':')?;
    // `:backend:` and `remote,option=value:` define remotes on the fly, among them the local disk.
    if remote.is_empty() || remote.contains([',', '=', '\'', '"']) {
        return Some(Err(()));
    }
    let named = remote.chars().all(|c| c.is_alphanumeric() || "_.-+@ ".contains(c))
        && !remote.starts_with(['-', ' ']);
    (named && !path.is_empty())
        .then(|| Ok(Address::Rclone { remote: remote.to_owned(), path: path.to_owned() }))
}

/// Whether any segment is `..`, however it is encoded.
fn has_parent_segment(text: &str) -> bool {
    // `?` and `#` end the path of a URL; in the name of a file or an object they are ordinary characters.
    let web = ["http:", "https:"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let path = if web { text.split(['?', '#']).next().unwrap_or_default() } else { text };
    let mut text = path.to_owned();
    for _ in 0..MAX_DECODINGS {
        if text.split(['/', '\\', ':']).any(|part| part == "..") {
            return true;
        }
        text = decoded(&text);
    }
    false
}

/// Percent-decodes once.
pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn object(store: ObjectStoreKind, bucket: &str, key: &str) -> Address {
        Address::Object(ObjectAddress { store, bucket: bucket.into(), key: key.into() })
    }

    fn rclone(remote: &str, path: &str) -> Address {
        Address::Rclone { remote: remote.into(), path: path.into() }
    }

    #[rstest]
    #[case("/media//a/./b.y4m", Address::File("/media/a/b.y4m".into()))]
    #[case("/media/a..b/c?d", Address::File("/media/a..b/c?d".into()))]
    #[case("file:///media/a%20b.y4m", Address::File("/media/a b.y4m".into()))]
    #[case("s3://bucket/a b/c.y4m", object(ObjectStoreKind::S3, "bucket", "a b/c.y4m"))]
    #[case("S3://bucket/c", object(ObjectStoreKind::S3, "bucket", "c"))]
    #[case("gs://bucket/c", object(ObjectStoreKind::Gcs, "bucket", "c"))]
    #[case("azure://clips/c", object(ObjectStoreKind::Azure, "clips", "c"))]
    #[case("az://clips/c", object(ObjectStoreKind::Azure, "clips", "c"))]
    #[case("box:a/b.y4m", rclone("box", "a/b.y4m"))]
    #[case("rclone://box:a/b.y4m", rclone("box", "a/b.y4m"))]
    #[case("sftp://user@host/a.y4m", rclone("sftp", "user@host/a.y4m"))]
    #[case("https://host/a?b=/../c", Address::Http(Box::new("https://host/a?b=/../c".parse().unwrap())))]
    #[case("https://host/a", Address::Http(Box::new("https://host/a".parse().unwrap())))]
    fn every_kind_of_address_is_parsed(#[case] text: &str, #[case] expected: Address) {
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
    fn no_spelling_of_a_parent_directory_is_accepted(#[case] text: &str) {
        assert!(matches!(Address::parse(text), Err(AddressError::ParentSegment { .. })), "{text}");
    }

    #[rstest]
    #[case(":local:/etc/passwd")]
    #[case("box,type=local:/etc/passwd")]
    #[case("rclone://:local:/etc/passwd")]
    #[case("rclone://box,pass=x:a")]
    #[case("://x")]
    fn no_remote_is_defined_on_the_fly(#[case] text: &str) {
        assert!(matches!(Address::parse(text), Err(AddressError::RcloneOptions { .. })), "{text}");
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
    fn a_text_that_is_not_an_address_is_refused(#[case] text: &str) {
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
    fn an_invalid_bucket_name_is_refused(#[case] text: &str) {
        assert!(matches!(Address::parse(text), Err(AddressError::Bucket { .. })), "{text}");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_path_has_a_parent_segment(text in "(/|s3://|https?://|file://|[a-z]{0,4}:)?[a-z.%2eEfF/\\\\:,=@?#]{0,30}") {
            if let Ok(Address::File(path)) = Address::parse(&text) {
                prop_assert!(path.is_absolute());
                prop_assert!(path.components().all(|part| part != std::path::Component::ParentDir));
            }
        }
    }
}
