//! Ages and durations for tables.

use std::time::Duration;

use jiff::Timestamp;

/// The time since `milliseconds` (Unix time), such as `5m12s`; `-` for 0, the time of an event that has not happened.
pub(crate) fn since(milliseconds: i64, now: Timestamp) -> String {
    let then = Timestamp::from_millisecond(milliseconds).ok().filter(|_| milliseconds > 0);
    then.map_or_else(|| "-".to_owned(), |then| length(now.duration_since(then).unsigned_abs()))
}

/// A duration in its two largest units: `3s`, `5m12s`, `2h5m`, `3d4h`.
pub(crate) fn length(length: Duration) -> String {
    let seconds = length.as_secs();
    let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60);
    let two = |big: u64, name: &str, small: u64, unit: &str| {
        if small == 0 { format!("{big}{name}") } else { format!("{big}{name}{small}{unit}") }
    };
    match (days, hours, minutes) {
        (1.., ..) => two(days, "d", hours, "h"),
        (0, 1.., _) => two(hours, "h", minutes, "m"),
        (0, 0, 1..) => two(minutes, "m", seconds % 60, "s"),
        _ => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, "0s")]
    #[case(59, "59s")]
    #[case(60, "1m")]
    #[case(312, "5m12s")]
    #[case(7500, "2h5m")]
    #[case(273_600, "3d4h")]
    fn a_duration_has_at_most_two_units(#[case] seconds: u64, #[case] expected: &str) {
        assert_eq!(length(Duration::from_secs(seconds)), expected);
    }

    #[test]
    fn an_event_that_has_not_happened_has_no_age() {
        let now = Timestamp::from_second(100).unwrap();
        assert_eq!(since(0, now), "-");
        assert_eq!(since(90_000, now), "10s");
    }
}
