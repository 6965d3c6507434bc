//! Instants as RFC 3339.

use k8s_openapi::jiff;
use vmafx_queue::clock::Timestamp;

/// RFC 3339 with milliseconds, in UTC. An instant outside the range of the calendar becomes the epoch.
pub fn rfc3339(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_always_there() {
        assert_eq!(rfc3339(Timestamp(1_760_000_000_000)), "2025-10-09T08:53:20.000Z");
        assert_eq!(rfc3339(Timestamp(i64::MAX)), "1970-01-01T00:00:00.000Z");
    }
}
