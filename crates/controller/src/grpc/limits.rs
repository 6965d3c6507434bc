//! The limits of each method in numbers.

use std::time::Duration;

use vmafx_kit::serve::{CallLimits, RequestMessages};

use crate::auth::permissions::{self, CallDuration, MessageSize, Permission};

const TINY_MESSAGE_BYTES: usize = 1024;
const ORDINARY_MESSAGE_BYTES: usize = 64 * 1024;

/// Time for the work besides the wait of a call that waits.
const WAIT_MARGIN: Duration = Duration::from_secs(30);

/// Maximum times of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodTimes {
    pub short: Duration,
    pub pull_wait: Duration,
    pub score_wait: Duration,
}

/// The limits of the method with this path. Every call of an unlisted method is denied without reading its message.
pub fn method_limits(path: &str, times: MethodTimes, max_message_bytes: usize) -> CallLimits {
    let listed = permissions::grpc_method(path);
    let (permission, size, duration) = listed
        .map_or((None, MessageSize::Tiny, CallDuration::Short), |(_, permission, _, size, duration)| {
            (Some(*permission), *size, *duration)
        });
    let message_bytes = match size {
        MessageSize::Tiny => TINY_MESSAGE_BYTES,
        MessageSize::Ordinary => ORDINARY_MESSAGE_BYTES,
        MessageSize::Large => max_message_bytes,
    };
    let max_time = match duration {
        CallDuration::Short => Some(times.short),
        CallDuration::Pull => Some(times.pull_wait.saturating_add(WAIT_MARGIN)),
        CallDuration::Score => Some(times.score_wait.saturating_add(WAIT_MARGIN)),
        CallDuration::Stream | CallDuration::Exchange => None,
    };
    CallLimits {
        max_message_bytes: message_bytes.min(max_message_bytes),
        messages: match duration {
            CallDuration::Exchange => RequestMessages::Many,
            _ => RequestMessages::One,
        },
        max_time,
        unauthenticated: permission == Some(Permission::Exempt),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const TIMES: MethodTimes = MethodTimes {
        short: Duration::from_secs(1),
        pull_wait: Duration::from_secs(100),
        score_wait: Duration::from_secs(1000),
    };

    #[rstest]
    #[case("/grpc.health.v1.Health/Check", 1024, Some(1), true)]
    #[case("/grpc.health.v1.Health/Watch", 1024, None, true)]
    #[case("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", 1024, None, false)]
    #[case("/vmafx.controller.v1.VmafxController/GetJob", 65_536, Some(1), false)]
    #[case("/vmafx.controller.v1.VmafxController/ReportResult", 4_000_000, Some(1), false)]
    #[case("/vmafx.controller.v1.VmafxController/PullWork", 4_000_000, Some(130), false)]
    #[case("/vmafx.controller.v1.VmafxController/StreamJobs", 65_536, None, false)]
    #[case("/vmafx.v1.VmafxScoring/Score", 4_000_000, Some(1030), false)]
    #[case("/vmafx.v1.VmafxScoring/None", 1024, Some(1), false)]
    fn a_method_has_its_limits(
        #[case] path: &str,
        #[case] bytes: usize,
        #[case] seconds: Option<u64>,
        #[case] unauthenticated: bool,
    ) {
        let limits = method_limits(path, TIMES, 4_000_000);
        let time = seconds.map(Duration::from_secs);
        let actual = (limits.max_message_bytes, limits.max_time, limits.unauthenticated);
        assert_eq!(actual, (bytes, time, unauthenticated));
    }

    #[test]
    fn no_method_takes_more_than_the_setting() {
        let path = "/vmafx.controller.v1.VmafxController/GetJob";
        assert_eq!(method_limits(path, TIMES, 2000).max_message_bytes, 2000);
    }
}
