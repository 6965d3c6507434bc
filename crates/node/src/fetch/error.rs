//! Why an input could not be fetched.

use std::error::Error;
use std::io;
use std::time::Duration;

use vmafx_job::{Failure, FailureReason};

use crate::scratch::{ByteSize, ScratchError, ScratchFull};

/// A problem, and the redacted address.
#[derive(Debug, thiserror::Error)]
#[error("{redacted}: {problem}")]
pub(crate) struct FetchError {
    redacted: String,
    #[source]
    problem: FetchProblem,
}

impl FetchError {
    pub(crate) fn new(redacted: &str, problem: FetchProblem) -> Self {
        Self { redacted: redacted.to_owned(), problem }
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self::new(error.problem.reason(), error.to_string())
    }
}

/// The messages contain no text of a source or a library, which may quote secrets.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum FetchProblem {
    #[error("it does not exist ({0})")]
    NotFound(String),
    /// Another node may have other credentials.
    #[error("access is denied ({0})")]
    Denied(String),
    #[error("the server refuses the request ({0})")]
    Refused(String),
    #[error("a redirect leads outside the scoring roots of this job, to {0}")]
    RedirectedOutside(String),
    #[error("{0} resolves to a private address, which no scoring root names")]
    PrivateAddress(String),
    #[error("it was redirected more than {0} times")]
    TooManyRedirects(usize),
    #[error("the response is a redirect without a valid target ({0})")]
    BareRedirect(String),
    #[error("{}", too_large(*length, *limit))]
    TooLarge { length: Option<u64>, limit: u64 },
    #[error("the server says that it is too large ({0})")]
    RefusedAsTooLarge(String),
    #[error(
        "the server does not declare the length of the file, so its end cannot be told from a broken connection"
    )]
    NoLength,
    #[error("the server sent it compressed although the request did not allow that")]
    Compressed,
    #[error("{what} did not answer within {limit:?}")]
    TimedOut { what: &'static str, limit: Duration },
    #[error("it took longer than {0:?}")]
    Overdue(Duration),
    #[error("it cannot be reached ({0})")]
    Unreachable(String),
    #[error("the server answered {0}")]
    ServerError(String),
    #[error("the connection broke after {received} of {of} bytes")]
    Cut { received: u64, of: String },
    #[error("it changed while it was downloaded")]
    Changed,
    #[error("{0}")]
    Settings(String),
    #[error("{0}")]
    ScratchFull(ScratchFull),
    #[error("cannot write to the scratch directory ({0})")]
    Scratch(io::ErrorKind),
    #[error("fetching it was cancelled")]
    Cancelled,
}

impl FetchProblem {
    pub(crate) fn reason(&self) -> FailureReason {
        match self {
            Self::NotFound(_) => FailureReason::InputNotFound,
            Self::Denied(_) => FailureReason::InputDeniedOnNode,
            Self::Refused(_)
            | Self::RedirectedOutside(_)
            | Self::PrivateAddress(_)
            | Self::TooManyRedirects(_)
            | Self::BareRedirect(_) => FailureReason::InputDenied,
            Self::TooLarge { .. } | Self::RefusedAsTooLarge(_) => FailureReason::InputTooLarge,
            Self::NoLength | Self::Compressed => FailureReason::InputInvalid,
            Self::TimedOut { .. }
            | Self::Overdue(_)
            | Self::Unreachable(_)
            | Self::ServerError(_)
            | Self::Cut { .. }
            | Self::Changed => FailureReason::SourceUnreachable,
            Self::ScratchFull(full) if full.is_permanent() => FailureReason::InputTooLarge,
            Self::ScratchFull(_)
            | Self::Scratch(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                FailureReason::ScratchFull
            }
            // Settings that no job can use are the node's fault, and count towards its quarantine.
            Self::Settings(_) | Self::Scratch(_) | Self::Cancelled => FailureReason::Internal,
        }
    }

    /// Whether the same request may succeed a moment later.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::Unreachable(_) | Self::ServerError(_) | Self::Cut { .. })
    }
}

impl From<ScratchFull> for FetchProblem {
    fn from(full: ScratchFull) -> Self {
        Self::ScratchFull(full)
    }
}

impl From<ScratchError> for FetchProblem {
    fn from(error: ScratchError) -> Self {
        Self::Scratch(error.source.kind())
    }
}

impl From<io::Error> for FetchProblem {
    fn from(error: io::Error) -> Self {
        Self::Scratch(error.kind())
    }
}

fn too_large(length: Option<u64>, limit: u64) -> String {
    let length = length.map_or("it goes on".to_owned(), |length| format!("it has {length} bytes and goes"));
    format!("{length} beyond the limit of {} (VMAFX_MAX_INPUT_BYTES)", ByteSize(limit))
}

/// The kind of a library's error, which cannot quote an address.
pub(crate) fn error_kind(error: &(dyn Error + 'static)) -> String {
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_job::RetryClass;

    use super::*;
    use crate::fetch::local_failure;
    use crate::paths::local::LocalError;

    fn text() -> String {
        "x".to_owned()
    }

    /// A new variant does not compile until it has a row in the tests below.
    const fn row(problem: &FetchProblem) -> RetryClass {
        match problem {
            FetchProblem::NotFound(_)
            | FetchProblem::Refused(_)
            | FetchProblem::RedirectedOutside(_)
            | FetchProblem::PrivateAddress(_)
            | FetchProblem::TooManyRedirects(_)
            | FetchProblem::BareRedirect(_)
            | FetchProblem::TooLarge { .. }
            | FetchProblem::RefusedAsTooLarge(_)
            | FetchProblem::NoLength
            | FetchProblem::Compressed
            | FetchProblem::ScratchFull(
                ScratchFull::ExceedsLimit { .. } | ScratchFull::ExceedsVolume { .. },
            ) => RetryClass::Input,
            FetchProblem::Denied(_) => RetryClass::Unconfirmed,
            FetchProblem::TimedOut { .. }
            | FetchProblem::Overdue(_)
            | FetchProblem::Unreachable(_)
            | FetchProblem::ServerError(_)
            | FetchProblem::Cut { .. }
            | FetchProblem::Changed => RetryClass::Moment,
            FetchProblem::ScratchFull(ScratchFull::HeldByOthers { .. } | ScratchFull::DiskFull { .. })
            | FetchProblem::Scratch(_)
            | FetchProblem::Settings(_)
            | FetchProblem::Cancelled => RetryClass::Node,
        }
    }

    #[test]
    fn every_problem_has_the_class_of_who_is_at_fault() {
        let limit = Duration::from_secs(1);
        let problems = [
            FetchProblem::NotFound(text()),
            FetchProblem::Denied(text()),
            FetchProblem::Refused(text()),
            FetchProblem::RedirectedOutside(text()),
            FetchProblem::PrivateAddress(text()),
            FetchProblem::TooManyRedirects(1),
            FetchProblem::BareRedirect(text()),
            FetchProblem::TooLarge { length: None, limit: 1 },
            FetchProblem::RefusedAsTooLarge(text()),
            FetchProblem::NoLength,
            FetchProblem::Compressed,
            FetchProblem::TimedOut { what: "x", limit },
            FetchProblem::Overdue(limit),
            FetchProblem::Unreachable(text()),
            FetchProblem::ServerError(text()),
            FetchProblem::Cut { received: 1, of: text() },
            FetchProblem::Changed,
            FetchProblem::Settings(text()),
            FetchProblem::ScratchFull(ScratchFull::ExceedsLimit { needs: 2, limit: ByteSize(1) }),
            FetchProblem::ScratchFull(ScratchFull::ExceedsVolume { needs: 2, size: 1 }),
            FetchProblem::ScratchFull(ScratchFull::HeldByOthers { needs: 2, waited: limit }),
            FetchProblem::ScratchFull(ScratchFull::DiskFull { needs: 2, free: 1 }),
            FetchProblem::Scratch(io::ErrorKind::StorageFull),
            FetchProblem::Scratch(io::ErrorKind::Other),
            FetchProblem::Cancelled,
        ];
        for problem in problems {
            assert_eq!(problem.reason().retry_class(), row(&problem), "{problem:?}");
        }
    }

    #[rstest]
    #[case::roots(LocalError::Outside, RetryClass::Input)]
    #[case::not_mounted(LocalError::NotFound, RetryClass::Unconfirmed)]
    #[case::not_readable(LocalError::Denied(io::ErrorKind::PermissionDenied.into()), RetryClass::Unconfirmed)]
    #[case::directory(LocalError::NotRegular("a directory"), RetryClass::Input)]
    #[case::replaced(LocalError::Swapped, RetryClass::Moment)]
    #[case::stale_handle(LocalError::Io(io::ErrorKind::StaleNetworkFileHandle.into()), RetryClass::Moment)]
    fn a_local_path_has_the_class_of_who_is_at_fault(#[case] error: LocalError, #[case] class: RetryClass) {
        assert_eq!(local_failure("/media/a", &error).reason.retry_class(), class);
    }
}
