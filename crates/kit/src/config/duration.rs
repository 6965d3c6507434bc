//! Durations as Go's `time.ParseDuration` reads them: `30s`, `1h30m`, `1.5h`, `100ms`, `0`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

const UNITS: [(&str, u128); 8] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000), // U+00B5, the micro sign
    ("μs", 1_000), // U+03BC, the Greek letter
    ("ns", 1),
];

/// Go keeps nanoseconds in 63 bits; a value that overflows there is refused here as well, so that programs in both
/// languages accept the same values.
const MAX_NANOS: u128 = i64::MAX as u128;

/// A duration that is never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(pub Duration);

impl From<GoDuration> for Duration {
    fn from(duration: GoDuration) -> Self {
        duration.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("a duration is a number and a unit, such as 30s, 10m or 1h30m")]
    NotANumber,
    /// `30`
    #[error("the unit is missing: write {0}s for seconds or {0}m for minutes")]
    NoUnit(String),
    /// `3d`
    #[error("\"{0}\" is not a unit: use h, m, s, ms, us or ns")]
    UnknownUnit(String),
    /// `-5s`
    #[error("a duration cannot be negative")]
    Negative,
    #[error("the duration is too long: at most 2562047h")]
    TooLong,
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let mut rest = match text.strip_prefix('-') {
            Some("0") => return Ok(Self::default()),
            Some(_) => return Err(DurationError::Negative),
            None => text.strip_prefix('+').unwrap_or(text),
        };
        if rest == "0" {
            return Ok(Self::default());
        }
        if rest.is_empty() {
            return Err(DurationError::NotANumber);
        }
        let mut total = 0_u128;
        while !rest.is_empty() {
            let (nanos, after) = parse_term(rest)?;
            total += nanos;
            if total > MAX_NANOS {
                return Err(DurationError::TooLong);
            }
            rest = after;
        }
        // `total` fits: it is at most 2^63.
        Ok(Self(Duration::from_nanos(u64::try_from(total).unwrap_or(u64::MAX))))
    }
}

/// Parses one number with its unit; returns nanoseconds and the rest of the text.
fn parse_term(text: &str) -> Result<(u128, &str), DurationError> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => digits(after),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError::NotANumber);
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    if unit.is_empty() {
        return Err(DurationError::NoUnit(text.to_owned()));
    }
    let &(_, size) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| DurationError::UnknownUnit(unit.to_owned()))?;

    let whole =
        if whole.is_empty() { 0 } else { whole.parse::<u128>().map_err(|_| DurationError::TooLong)? };
    let whole = whole.checked_mul(size).ok_or(DurationError::TooLong)?;
    Ok((whole.saturating_add(fraction_of(fraction, size)), rest))
}

/// `0.<fraction>` of `size`, rounded down. Each digit after the sixteenth is less than a nanosecond of an hour.
fn fraction_of(fraction: &str, size: u128) -> u128 {
    let kept = fraction.get(..16).unwrap_or(fraction);
    let scale = kept.bytes().fold(1_u128, |scale, _| scale * 10);
    kept.parse::<u128>().map_or(0, |number| number * size / scale)
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// The shortest form that reads back as the same duration: `1h30m`, `1.5s`, `250ms`, `0s`.
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        if nanos == 0 {
            return f.write_str("0s");
        }
        if nanos < 1_000_000_000 {
            let (unit, size) = match nanos {
                1_000_000.. => ("ms", 1_000_000),
                1_000.. => ("us", 1_000),
                _ => ("ns", 1),
            };
            return decimal(f, nanos, size, unit);
        }
        let (hours, minutes, rest) =
            (nanos / 3_600_000_000_000, nanos / 60_000_000_000 % 60, nanos % 60_000_000_000);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        if rest > 0 { decimal(f, rest, 1_000_000_000, "s") } else { Ok(()) }
    }
}

fn decimal(f: &mut fmt::Formatter<'_>, nanos: u128, size: u128, unit: &str) -> fmt::Result {
    let (whole, part) = (nanos / size, nanos % size);
    if part == 0 {
        return write!(f, "{whole}{unit}");
    }
    let width = size.ilog10() as usize;
    let part = format!("{part:0width$}");
    write!(f, "{whole}.{}{unit}", part.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0", 0)]
    #[case("30s", 30_000_000_000)]
    #[case("10m", 600_000_000_000)]
    #[case("1h30m", 5_400_000_000_000)]
    #[case("1.5h", 5_400_000_000_000)]
    #[case("100ms", 100_000_000)]
    #[case("2us", 2_000)]
    #[case("2µs", 2_000)]
    #[case("2μs", 2_000)]
    #[case("7ns", 7)]
    #[case("+5s", 5_000_000_000)]
    #[case(".5s", 500_000_000)]
    #[case("1.s", 1_000_000_000)]
    #[case("0.3333333333333333333h", 1_200_000_000_000 - 1)]
    #[case("0.100000000000000000000h", 360_000_000_000)]
    #[case("9223372036854775807ns", i64::MAX.unsigned_abs())]
    fn reads_what_go_reads(#[case] text: &str, #[case] nanos: u64) {
        assert_eq!(text.parse(), Ok(GoDuration(Duration::from_nanos(nanos))));
    }

    #[rstest]
    #[case("", DurationError::NotANumber)]
    #[case("s", DurationError::NotANumber)]
    #[case(".s", DurationError::NotANumber)]
    #[case(" 5s", DurationError::NotANumber)]
    #[case("30", DurationError::NoUnit("30".into()))]
    #[case("3d", DurationError::UnknownUnit("d".into()))]
    #[case("1h 30m", DurationError::UnknownUnit("h ".into()))]
    #[case("-5s", DurationError::Negative)]
    #[case("9223372036854775808ns", DurationError::TooLong)]
    #[case("99999999999999999999999999999999999999999h", DurationError::TooLong)]
    fn refuses_what_go_refuses(#[case] text: &str, #[case] expected: DurationError) {
        assert_eq!(text.parse::<GoDuration>(), Err(expected));
    }

    #[rstest]
    #[case(0, "0s")]
    #[case(250_000_000, "250ms")]
    #[case(1_500_000_000, "1.5s")]
    #[case(600_000_000_000, "10m")]
    #[case(5_400_000_000_000, "1h30m")]
    #[case(3_600_050_000_000, "1h0.05s")]
    fn writes_the_shortest_form(#[case] nanos: u64, #[case] expected: &str) {
        assert_eq!(GoDuration(Duration::from_nanos(nanos)).to_string(), expected);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(nanos in 0..=i64::MAX.unsigned_abs()) {
            let duration = GoDuration(Duration::from_nanos(nanos));
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<GoDuration>();
        }

        #[test]
        fn no_nearly_right_text_panics(text in "[-+]?([0-9]{0,30}(\\.[0-9]{0,30})?(h|m|s|ms|ns|d)?){0,4}") {
            let _ = text.parse::<GoDuration>();
        }
    }
}
