//! Why a registry did not do what it was asked.
//!
//! | reason                   | the registry                                     | may pass | what helps                              |
//! |--------------------------|--------------------------------------------------|----------|-----------------------------------------|
//! | `RegistryUnauthorized`   | does not know us (401)                           | yes      | `registrySecret`, `DOCKER_CONFIG`       |
//! | `RegistryDenied`         | knows us and says no (403)                       | yes      | a right to push or pull                 |
//! | `RegistryNotFound`       | has no such name (404)                           | yes      | another name; making the repository     |
//! | `RegistryUnavailable`    | is not there, is slow, has a fault (5xx, 429)    | yes      | time                                    |
//! | `RegistryFull`           | has no room (507, 500 that says so)              | yes      | room                                    |
//! | `RegistryStorageFailed`  | cannot store (500 while it was to)               | yes      | its log                                 |
//! | `RegistryReadOnly`       | takes nothing (405)                              | yes      | its configuration                       |
//! | `RegistryWithoutTls`     | is asked, or asks us, to do without TLS          | no       | `VMAFX_OCI_PLAIN_HTTP`                  |
//! | `RegistryTlsFailed`      | has a certificate that nobody here trusts        | yes      | an authority                            |
//! | `RegistryRefused`        | may not be asked, or refuses what was sent (4xx) | no       | another registry                        |
//! | `DigestMismatch`         | sent something else than was asked for           | no       | pulling or pushing it anew              |
//! | `ManifestInvalid`        | has something there that is no model             | no       | another name                            |
//! | `TooLarge`               | sent more than there may be                      | no       | something smaller                       |
//!
//! "May pass" means that the same request may succeed later without anybody changing it; a person may have to change
//! something in the registry or in a Secret first.

use std::time::Duration;

use crate::digest::Digest;
use crate::manifest::ManifestError;
use crate::transport::TransportError;

/// Why a registry did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum OciError {
    /// It wants to know who asks.
    #[error("access is denied ({answer}): {}", sign_in(*.known))]
    Unauthorized {
        /// What it said.
        answer: String,
        /// Whether it was shown credentials.
        known: bool,
    },
    /// It knows who asks, and says no.
    #[error("access is denied ({answer}): {}", right(*.known))]
    Denied {
        /// What it said.
        answer: String,
        /// Whether it was shown credentials.
        known: bool,
    },
    /// Nothing has that name.
    #[error("nothing is there ({answer})")]
    NotFound {
        /// What it said.
        answer: String,
    },
    /// It answers that it cannot answer.
    #[error("the registry answered {answer}")]
    Unavailable {
        /// What it said.
        answer: String,
    },
    /// No answer.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// It says nothing.
    #[error("the registry did not answer within {0:?}")]
    Silent(Duration),
    /// It does answer, but never gets done.
    #[error("it took longer than {0:?}")]
    Overdue(Duration),
    /// It ended early.
    #[error("the connection broke after {got} of {of} bytes")]
    Cut {
        /// What arrived.
        got: u64,
        /// What was announced.
        of: u64,
    },
    /// There is no room.
    #[error("the registry has no room left ({answer}): delete what nobody needs, or give it more")]
    Full {
        /// What it said.
        answer: String,
    },
    /// It could not store what was sent.
    #[error("the registry could not store it ({answer}): its storage may be full or read-only, see its log")]
    Storage {
        /// What it said.
        answer: String,
    },
    /// It takes nothing.
    #[error("the registry takes nothing ({answer}): it is read-only, or a mirror of another one")]
    ReadOnly {
        /// What it said.
        answer: String,
    },
    /// It does not want what was sent.
    #[error("the registry refused it ({answer})")]
    Refused {
        /// What it said.
        answer: String,
    },
    /// TLS would be left out.
    #[error("{0} without TLS: add it to VMAFX_OCI_PLAIN_HTTP if that is meant")]
    Plain(String),
    /// Something else than what was asked for.
    #[error("{what} does not have the digest {expected}")]
    Digest {
        /// What it was to be.
        what: &'static str,
        /// What it was to be called.
        expected: Digest,
    },
    /// Nothing that can be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// More than there may be.
    #[error("{what} is longer than {limit} bytes")]
    TooLarge {
        /// What it was.
        what: &'static str,
        /// How long it may be.
        limit: u64,
    },
    /// More names than anybody keeps.
    #[error(
        "the repository has more than {0} tags: ask for one training, delete old tags, or use another repository"
    )]
    TooManyTags(usize),
    /// Sent from place to place.
    #[error("it was redirected more than {0} times")]
    Redirects(usize),
    /// It does not keep to the protocol.
    #[error("the registry does not keep to the protocol: {0}")]
    Protocol(&'static str),
    /// What is no tag was to be one.
    #[error("{0:?} is no tag: one has letters, digits, dots and dashes, 128 at most")]
    Tag(String),
}

fn sign_in(known: bool) -> &'static str {
    if known {
        "the registry does not know this user or password; check the Secret that registrySecret names, or the config.json in DOCKER_CONFIG"
    } else {
        "there are no credentials for this registry; set registrySecret to a docker-registry Secret, or DOCKER_CONFIG to a directory with a config.json"
    }
}

fn right(known: bool) -> &'static str {
    if known {
        "this user may not do that in this repository"
    } else {
        "nobody may do that here without credentials; set registrySecret to a docker-registry Secret, or DOCKER_CONFIG to a directory with a config.json"
    }
}

impl OciError {
    /// The one word for it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unauthorized { .. } => "RegistryUnauthorized",
            Self::Denied { .. } => "RegistryDenied",
            Self::NotFound { .. } => "RegistryNotFound",
            Self::Unavailable { .. }
            | Self::Silent(_)
            | Self::Overdue(_)
            | Self::Cut { .. }
            | Self::Transport(TransportError::Unreachable(_) | TransportError::Cut) => "RegistryUnavailable",
            Self::Transport(TransportError::Tls(_)) => "RegistryTlsFailed",
            Self::Full { .. } => "RegistryFull",
            Self::Storage { .. } => "RegistryStorageFailed",
            Self::ReadOnly { .. } => "RegistryReadOnly",
            Self::Refused { .. }
            | Self::Redirects(_)
            | Self::Protocol(_)
            | Self::Tag(_)
            | Self::Transport(TransportError::Refused(_)) => "RegistryRefused",
            Self::Plain(_) => "RegistryWithoutTls",
            Self::Digest { .. } => "DigestMismatch",
            Self::Manifest(_) => "ManifestInvalid",
            Self::TooLarge { .. } | Self::TooManyTags(_) => "TooLarge",
        }
    }

    /// Whether the same request may succeed later, without being changed.
    pub fn may_pass(&self) -> bool {
        matches!(
            self.reason(),
            "RegistryUnauthorized"
                | "RegistryDenied"
                | "RegistryNotFound"
                | "RegistryUnavailable"
                | "RegistryTlsFailed"
                | "RegistryFull"
                | "RegistryStorageFailed"
                | "RegistryReadOnly"
        )
    }

    /// Whether the same request may succeed in a moment: only then it is worth sending again at once.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Storage { .. }) || self.reason() == "RegistryUnavailable"
    }
}
