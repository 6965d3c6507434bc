//! Why a registry did not do what it was asked, and what class of failure that is.
//!
//! | reason                  | the registry                                   | may succeed later | what helps                            |
//! |-------------------------|------------------------------------------------|-------------------|---------------------------------------|
//! | `RegistryUnauthorized`  | does not accept our credentials (401)          | yes               | `registrySecret`, `DOCKER_CONFIG`     |
//! | `RegistryDenied`        | denies this user the operation (403)           | yes               | permission to push or pull            |
//! | `RegistryNotFound`      | has no such name (404)                         | yes               | another name; creating the repository |
//! | `RegistryUnavailable`   | is unreachable, too slow or failing (5xx, 429) | yes               | time                                  |
//! | `RegistryFull`          | has no space left (507, or 500 that says so)   | yes               | space                                 |
//! | `RegistryStorageFailed` | cannot store the upload (other 500)            | yes               | its log                               |
//! | `RegistryReadOnly`      | accepts no uploads (405)                       | yes               | its configuration                     |
//! | `RegistryWithoutTls`    | would have to be used without TLS              | no                | `VMAFX_OCI_PLAIN_HTTP`                |
//! | `RegistryTlsFailed`     | has a certificate that is not trusted here     | yes               | its CA certificate                    |
//! | `RegistryRefused`       | must not be used, or rejects the request (4xx) | no                | another registry                      |
//! | `DigestMismatch`        | sent other content than was asked for          | no                | pulling or pushing it again           |
//! | `ManifestInvalid`       | has an artifact there that is not a model      | no                | another name                          |
//! | `TooLarge`              | sent more than the limit                       | no                | a smaller artifact                    |
//!
//! "May succeed later" means that the same request may succeed without being changed; a person may have to change
//! something in the registry or in a Secret first.

use std::fmt;
use std::time::Duration;

use crate::digest::Digest;
use crate::manifest::ManifestError;
use crate::transport::TransportError;

/// Why a registry did not do what it was asked. A `response` is the status line and the error code of the protocol.
#[derive(Debug, thiserror::Error)]
pub enum OciError {
    #[error("access is denied ({response}): {}", credentials_advice(*.with_credentials))]
    Unauthorized { response: String, with_credentials: bool },
    #[error("access is denied ({response}): {}", permission_advice(*.with_credentials))]
    Denied { response: String, with_credentials: bool },
    #[error("nothing is there ({response})")]
    NotFound { response: String },
    #[error("the registry answered {response}")]
    Unavailable { response: String },
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Nothing arrived within a timeout.
    #[error("the registry did not answer within {0:?}")]
    Timeout(Duration),
    /// The operation as a whole passed its deadline.
    #[error("it took longer than {0:?}")]
    DeadlineExceeded(Duration),
    #[error("the connection broke after {got} of {of} bytes")]
    Truncated { got: u64, of: u64 },
    #[error(
        "the registry has no space left ({response}): delete artifacts that are not needed, or enlarge its storage"
    )]
    Full { response: String },
    #[error(
        "the registry could not store it ({response}): its storage may be full or read-only, see its log"
    )]
    StorageFailed { response: String },
    #[error("the registry accepts no uploads ({response}): it is read-only, or a mirror of another one")]
    ReadOnly { response: String },
    #[error("the registry refused it ({response})")]
    Refused { response: String },
    #[error("{0} would be used without TLS: add it to VMAFX_OCI_PLAIN_HTTP if that is intended")]
    PlainHttp(String),
    #[error("{what} does not have the digest {expected}")]
    DigestMismatch { what: &'static str, expected: Digest },
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("{what} is longer than {limit} bytes")]
    TooLarge { what: &'static str, limit: u64 },
    #[error(
        "the repository has more than {0} tags: ask for one training, delete old tags, or use another repository"
    )]
    TooManyTags(usize),
    #[error("it was redirected more than {0} times")]
    TooManyRedirects(usize),
    #[error("the registry violates the protocol: {0}")]
    Protocol(&'static str),
    #[error("{0:?} is not a tag: use letters, digits, dots, dashes and underscores, at most 128")]
    InvalidTag(String),
}

fn credentials_advice(with_credentials: bool) -> &'static str {
    if with_credentials {
        "the registry does not know this user or password; check the Secret that registrySecret names, or the config.json in DOCKER_CONFIG"
    } else {
        "there are no credentials for this registry; set registrySecret to a docker-registry Secret, or DOCKER_CONFIG to a directory with a config.json"
    }
}

fn permission_advice(with_credentials: bool) -> &'static str {
    if with_credentials {
        "this user has no permission for that in this repository"
    } else {
        "that is not permitted without credentials; set registrySecret to a docker-registry Secret, or DOCKER_CONFIG to a directory with a config.json"
    }
}

/// The class of an [`OciError`]. Its spelling is the reason that conditions, metrics and logs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryFailure {
    Unauthorized,
    Denied,
    NotFound,
    Unavailable,
    Full,
    StorageFailed,
    ReadOnly,
    WithoutTls,
    TlsFailed,
    Refused,
    DigestMismatch,
    ManifestInvalid,
    TooLarge,
}

impl RegistryFailure {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "RegistryUnauthorized",
            Self::Denied => "RegistryDenied",
            Self::NotFound => "RegistryNotFound",
            Self::Unavailable => "RegistryUnavailable",
            Self::Full => "RegistryFull",
            Self::StorageFailed => "RegistryStorageFailed",
            Self::ReadOnly => "RegistryReadOnly",
            Self::WithoutTls => "RegistryWithoutTls",
            Self::TlsFailed => "RegistryTlsFailed",
            Self::Refused => "RegistryRefused",
            Self::DigestMismatch => "DigestMismatch",
            Self::ManifestInvalid => "ManifestInvalid",
            Self::TooLarge => "TooLarge",
        }
    }

    /// Whether the same request may succeed later, without being changed.
    pub const fn may_succeed_later(self) -> bool {
        match self {
            Self::Unauthorized
            | Self::Denied
            | Self::NotFound
            | Self::Unavailable
            | Self::Full
            | Self::StorageFailed
            | Self::ReadOnly
            | Self::TlsFailed => true,
            Self::WithoutTls
            | Self::Refused
            | Self::DigestMismatch
            | Self::ManifestInvalid
            | Self::TooLarge => false,
        }
    }

    /// Whether the same request may succeed within moments, so that retrying it at once is worthwhile.
    const fn is_transient(self) -> bool {
        matches!(self, Self::Unavailable | Self::StorageFailed)
    }
}

impl fmt::Display for RegistryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl OciError {
    pub fn reason(&self) -> RegistryFailure {
        match self {
            Self::Unauthorized { .. } => RegistryFailure::Unauthorized,
            Self::Denied { .. } => RegistryFailure::Denied,
            Self::NotFound { .. } => RegistryFailure::NotFound,
            Self::Unavailable { .. }
            | Self::Timeout(_)
            | Self::DeadlineExceeded(_)
            | Self::Truncated { .. }
            | Self::Transport(TransportError::Unreachable(_) | TransportError::Disconnected) => {
                RegistryFailure::Unavailable
            }
            Self::Transport(TransportError::Tls(_)) => RegistryFailure::TlsFailed,
            Self::Full { .. } => RegistryFailure::Full,
            Self::StorageFailed { .. } => RegistryFailure::StorageFailed,
            Self::ReadOnly { .. } => RegistryFailure::ReadOnly,
            Self::Refused { .. }
            | Self::TooManyRedirects(_)
            | Self::Protocol(_)
            | Self::InvalidTag(_)
            | Self::Transport(TransportError::Forbidden(_)) => RegistryFailure::Refused,
            Self::PlainHttp(_) => RegistryFailure::WithoutTls,
            Self::DigestMismatch { .. } => RegistryFailure::DigestMismatch,
            Self::Manifest(_) => RegistryFailure::ManifestInvalid,
            Self::TooLarge { .. } | Self::TooManyTags(_) => RegistryFailure::TooLarge,
        }
    }

    /// See [`RegistryFailure::may_succeed_later`].
    pub fn may_succeed_later(&self) -> bool {
        self.reason().may_succeed_later()
    }

    /// Whether the request is worth retrying at once.
    pub fn is_transient(&self) -> bool {
        self.reason().is_transient()
    }
}
