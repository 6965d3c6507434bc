//! Numbers of bytes with the suffixes of Kubernetes quantities.

use std::fmt;
use std::str::FromStr;

/// Written `1000`, `500M`, `50Gi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a size is a whole number of bytes, such as 1000000, 500M or 50Gi")]
pub struct ByteSizeError;

const UNITS: [(&str, u64); 8] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

impl FromStr for ByteSize {
    type Err = ByteSizeError;

    fn from_str(text: &str) -> Result<Self, ByteSizeError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let unit = if unit.is_empty() {
            1
        } else {
            UNITS.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size).ok_or(ByteSizeError)?
        };
        number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).map(Self).ok_or(ByteSizeError)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS[..4].iter().rev().find(|(_, size)| self.0 >= *size && self.0.is_multiple_of(*size));
        match whole {
            Some((unit, size)) => write!(f, "{}{unit}", self.0 / size),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0", Some(0))]
    #[case("1000", Some(1000))]
    #[case("64Ki", Some(65_536))]
    #[case("500M", Some(500_000_000))]
    #[case("50Gi", Some(53_687_091_200))]
    #[case("18446744073709551615", Some(u64::MAX))]
    #[case("18446744073709551616", None)]
    #[case("20000000Ti", None)]
    #[case("", None)]
    #[case("Gi", None)]
    #[case("-1", None)]
    #[case("1.5Gi", None)]
    #[case("1GiB", None)]
    fn kubernetes_quantities_are_parsed(#[case] text: &str, #[case] expected: Option<u64>) {
        assert_eq!(text.parse::<ByteSize>().ok().map(|size| size.0), expected);
    }

    #[rstest]
    #[case(0, "0")]
    #[case(1500, "1500")]
    #[case(1 << 20, "1Mi")]
    #[case(50 << 30, "50Gi")]
    fn the_text_has_the_largest_whole_unit(#[case] bytes: u64, #[case] expected: &str) {
        assert_eq!(ByteSize(bytes).to_string(), expected);
    }
}
