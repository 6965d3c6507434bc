//! Failed calls to the controller, with a hint on what to do.

use tonic::{Code, Status};

/// The controller rejected a call or did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{}{}", status.message(), hint(status.code()))]
pub struct RpcError {
    status: Box<Status>,
}

impl From<Status> for RpcError {
    fn from(status: Status) -> Self {
        Self { status: Box::new(status) }
    }
}

impl From<Status> for super::RemoteError {
    fn from(status: Status) -> Self {
        Self::Rpc(status.into())
    }
}

fn hint(code: Code) -> &'static str {
    match code {
        Code::Unauthenticated => ": set VMAFX_CONTROLLER_TOKEN_FILE or VMAFX_CONTROLLER_TOKEN",
        Code::Unavailable => {
            ": is it running, and is the address right? (VMAFX_CONTROLLER_ADDR, or `vmafx up`)"
        }
        Code::Unimplemented => ": the controller is older than this command",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Status::not_found("job \"x\" not found"), "job \"x\" not found")]
    #[case(
        Status::unauthenticated("no token"),
        "no token: set VMAFX_CONTROLLER_TOKEN_FILE or VMAFX_CONTROLLER_TOKEN"
    )]
    fn the_message_comes_first_and_then_what_to_do(#[case] status: Status, #[case] expected: &str) {
        assert_eq!(RpcError::from(status).to_string(), expected);
    }
}
