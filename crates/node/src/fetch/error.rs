//! What can go wrong between here and a source.

use std::error::Error;
use std::io;
use std::time::Duration;

use vmafx_job::{Failure, FailureReason};

use crate::scratch::{Full, ScratchError, Size};

/// A problem, and the address it is about, as it may be shown.
#[derive(Debug, thiserror::Error)]
#[error("{shown}: {problem}")]
pub(crate) struct FetchError {
    shown: String,
    #[source]
    problem: Problem,
}

impl FetchError {
    pub(crate) fn new(shown: &str, problem: Problem) -> Self {
        Self { shown: shown.to_owned(), problem }
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self::new(error.problem.reason(), error.to_string())
    }
}

/// What is wrong. The texts hold nothing that a source or a library has said.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("nothing is there ({0})")]
    NotFound(String),
    #[error("access is denied ({0})")]
    Denied(String),
    #[error("a redirect leads outside the scoring roots of this job, to {0}")]
    RedirectedOutside(String),
    #[error("{0} leads to an address inside this network, which no scoring root names")]
    AddressInside(String),
    #[error("it was redirected more than {0} times")]
    TooManyRedirects(usize),
    #[error("the answer is a redirect to nowhere ({0})")]
    BareRedirect(String),
    #[error("{}", too_large(*length, *limit))]
    TooLarge { length: Option<u64>, limit: u64 },
    #[error("the server says that it is too large ({0})")]
    CalledTooLarge(String),
    #[error(
        "the server does not say how long the file is, so its end could not be told from a broken connection"
    )]
    NoLength,
    #[error("the server sent it compressed although it was asked not to")]
    Compressed,
    #[error("{what} did not answer within {limit:?}")]
    Silent { what: &'static str, limit: Duration },
    #[error("it took longer than {0:?}")]
    Overdue(Duration),
    #[error("it cannot be reached ({0})")]
    Unreachable(String),
    #[error("the server answered {0}")]
    Answer(String),
    #[error("the connection broke after {got} of {of} bytes")]
    Cut { got: u64, of: String },
    #[error("it changed while it was read")]
    Changed,
    #[error("{0}")]
    Settings(String),
    #[error("{0}")]
    Full(Full),
    #[error("the scratch directory cannot be written to ({0})")]
    Scratch(io::ErrorKind),
    #[error("fetching it was cancelled")]
    Cancelled,
}

impl Problem {
    /// The one word for it.
    pub(crate) fn reason(&self) -> FailureReason {
        match self {
            Self::NotFound(_) => FailureReason::InputNotFound,
            Self::Denied(_)
            | Self::RedirectedOutside(_)
            | Self::AddressInside(_)
            | Self::TooManyRedirects(_)
            | Self::BareRedirect(_) => FailureReason::InputDenied,
            Self::TooLarge { .. } | Self::CalledTooLarge(_) => FailureReason::InputTooLarge,
            Self::NoLength | Self::Compressed => FailureReason::InputInvalid,
            Self::Silent { .. }
            | Self::Overdue(_)
            | Self::Unreachable(_)
            | Self::Answer(_)
            | Self::Cut { .. }
            | Self::Changed
            | Self::Settings(_) => FailureReason::SourceUnreachable,
            Self::Full(_) | Self::Scratch(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                FailureReason::ScratchFull
            }
            Self::Scratch(_) | Self::Cancelled => FailureReason::Internal,
        }
    }

    /// Whether the same request may succeed in a moment.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::Silent { .. } | Self::Unreachable(_) | Self::Answer(_) | Self::Cut { .. })
    }
}

impl From<Full> for Problem {
    fn from(full: Full) -> Self {
        Self::Full(full)
    }
}

impl From<ScratchError> for Problem {
    fn from(error: ScratchError) -> Self {
        Self::Scratch(error.source.kind())
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Scratch(error.kind())
    }
}

fn too_large(length: Option<u64>, limit: u64) -> String {
    let length = length.map_or("it goes on".to_owned(), |length| format!("it has {length} bytes and goes"));
    format!("{length} beyond the limit of {} (VMAFX_MAX_INPUT_BYTES)", Size(limit))
}

/// The kind of a library's error, in words that cannot quote an address.
pub(crate) fn kind_of(error: &(dyn Error + 'static)) -> String {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && !matches!(error.kind(), io::ErrorKind::Other)
        {
            return error.kind().to_string();
        }
        next = error.source();
    }
    "no connection".to_owned()
}
