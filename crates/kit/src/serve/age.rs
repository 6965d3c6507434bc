//! How long a gRPC connection lives. Pure.

use std::time::Duration;

use crate::random;

/// The maximum age of a connection is changed by at most this share of itself, so that clients that connected together do
/// not reconnect together.
const AGE_JITTER: f64 = 0.1;

/// Grace period of a connection without calls: a call that is on its way is still answered.
const UNUSED_GRACE: Duration = Duration::from_secs(5);

/// Limits on the life of a connection. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionAge {
    /// After this time the client is asked to use a new connection.
    pub max: Option<Duration>,
    /// How long the calls that run on an old connection may take.
    pub grace: Option<Duration>,
}

/// Why a connection accepts no further calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrainCause {
    /// The process shuts down.
    Shutdown,
    /// The process does not serve any more.
    NotServing,
    TooOld,
    /// The client has begun no call.
    Unused,
}

impl ConnectionAge {
    /// The age at which one connection is too old.
    pub(super) fn of_connection(&self, fraction: f64) -> Option<Duration> {
        self.max.map(|max| random::jittered(max, AGE_JITTER, fraction))
    }

    /// How long the running calls may take after the client was asked to leave. A shutdown has a limit of its own for the
    /// whole listener.
    pub(super) fn grace(&self, cause: DrainCause) -> Option<Duration> {
        match cause {
            DrainCause::Shutdown => None,
            DrainCause::NotServing | DrainCause::TooOld => self.grace,
            DrainCause::Unused => Some(UNUSED_GRACE),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const LIMITS: ConnectionAge =
        ConnectionAge { max: Some(Duration::from_secs(100)), grace: Some(Duration::from_secs(30)) };

    #[rstest]
    #[case::no_limit(None, 0.0, None)]
    #[case::earliest(LIMITS.max, 0.0, Some(90))]
    #[case::middle(LIMITS.max, 0.5, Some(100))]
    #[case::late(LIMITS.max, 0.75, Some(105))]
    fn a_connection_is_too_old_at_its_own_time(
        #[case] max: Option<Duration>,
        #[case] fraction: f64,
        #[case] seconds: Option<u64>,
    ) {
        let age = ConnectionAge { max, grace: None }.of_connection(fraction);
        assert_eq!(age, seconds.map(Duration::from_secs));
    }

    #[rstest]
    #[case(DrainCause::Shutdown, None)]
    #[case(DrainCause::NotServing, LIMITS.grace)]
    #[case(DrainCause::TooOld, LIMITS.grace)]
    #[case(DrainCause::Unused, Some(UNUSED_GRACE))]
    fn running_calls_get_the_grace_period(#[case] cause: DrainCause, #[case] expected: Option<Duration>) {
        assert_eq!(LIMITS.grace(cause), expected);
    }
}
