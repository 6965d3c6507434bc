//! How a call on a connection ended, and what follows from it. Pure.
//!
//! | the call                                            | connection | sent again                    |
//! |-----------------------------------------------------|------------|-------------------------------|
//! | was answered, with any status but `UNAVAILABLE`     | kept       | no                            |
//! | was never processed: not sent, or refused by a server that is not ready | left | yes           |
//! | was answered with `UNAVAILABLE`                     | left       | if it is marked as repeatable |
//! | broke with its connection                           | left       | if it is marked as repeatable |
//! | was not answered in time                            | left       | if time is left and it is marked as repeatable |

use std::error::Error;

use http::HeaderMap;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// A call is sent at most this often.
const MAX_TRIES: u32 = 5;

/// Domain and reason of the `google.rpc.ErrorInfo` of a server that refuses a call before it does anything for it,
/// because it is not ready.
const DOMAIN: &str = "vmafx.dev";
const NOT_READY: &str = "NOT_READY";

/// The status of a server that is not ready. It promises that the call had no effect, so that clients send it again, to
/// another server if there is one.
pub fn not_ready(message: impl Into<String>) -> Status {
    let details =
        tonic_types::ErrorDetails::with_error_info(NOT_READY, DOMAIN, std::collections::HashMap::new());
    Status::with_error_details(Code::Unavailable, message, details)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEnd {
    Answered,
    NotProcessed,
    Unavailable,
    Broken,
    TimedOut,
}

impl CallEnd {
    /// By the header of a response, which contains the status if the response has no body.
    pub(super) fn of_headers(headers: &HeaderMap) -> Self {
        match Status::from_header_map(headers) {
            Some(status) if status.code() == Code::Unavailable => {
                if is_not_ready(&status) {
                    Self::NotProcessed
                } else {
                    Self::Unavailable
                }
            }
            _ => Self::Answered,
        }
    }

    /// By the error of a call without a response.
    pub(super) fn of_error(error: &hyper::Error) -> Self {
        let mut next: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = next {
            if let Some(error) = error.downcast_ref::<h2::Error>() {
                // A GOAWAY fails only the calls that the server has not looked at.
                let unprocessed = error.is_remote()
                    && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM));
                return if unprocessed { Self::NotProcessed } else { Self::Broken };
            }
            next = error.source();
        }
        Self::Broken
    }

    pub(super) const fn leaves_connection(self) -> bool {
        !matches!(self, Self::Answered)
    }

    /// Whether to send the call again after `tries` tries.
    pub(super) const fn is_retried(self, repeatable: bool, tries: u32) -> bool {
        let again = match self {
            Self::Answered => false,
            Self::NotProcessed => true,
            Self::Unavailable | Self::Broken | Self::TimedOut => repeatable,
        };
        again && tries < MAX_TRIES
    }
}

fn is_not_ready(status: &Status) -> bool {
    let info = status.get_details_error_info();
    info.is_some_and(|info| info.domain == DOMAIN && info.reason == NOT_READY)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn headers(status: Status) -> HeaderMap {
        let response: http::Response<()> = status.into_http();
        response.headers().clone()
    }

    #[rstest]
    #[case::no_status_yet(HeaderMap::new(), CallEnd::Answered)]
    #[case::ok(headers(Status::ok("")), CallEnd::Answered)]
    #[case::refused(headers(Status::permission_denied("no")), CallEnd::Answered)]
    #[case::unavailable(headers(Status::unavailable("the store is unavailable")), CallEnd::Unavailable)]
    #[case::not_ready(headers(not_ready("no store")), CallEnd::NotProcessed)]
    #[case::only_the_text(headers(Status::unavailable("NOT_READY")), CallEnd::Unavailable)]
    fn the_status_tells_how_a_call_ended(#[case] headers: HeaderMap, #[case] expected: CallEnd) {
        assert_eq!(CallEnd::of_headers(&headers), expected);
    }

    #[rstest]
    #[case(CallEnd::Answered, false, [false, false, false])]
    #[case(CallEnd::NotProcessed, true, [true, true, false])]
    #[case(CallEnd::Unavailable, true, [false, true, false])]
    #[case(CallEnd::Broken, true, [false, true, false])]
    #[case(CallEnd::TimedOut, true, [false, true, false])]
    fn the_whole_table(#[case] end: CallEnd, #[case] leaves: bool, #[case] retried: [bool; 3]) {
        assert_eq!(end.leaves_connection(), leaves);
        let tried = [(false, 1), (true, 1), (true, MAX_TRIES)];
        assert_eq!(tried.map(|(repeatable, tries)| end.is_retried(repeatable, tries)), retried);
    }
}
