//! Kubernetes quantities: `500m`, `2Gi`, `1e3`.

use std::fmt;

/// A quantity in billionths, the finest unit that the API server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ParsedQuantity(i128);

const BILLION: i128 = 1_000_000_000;

impl ParsedQuantity {
    /// `None` if the text is not a quantity, or too large.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let (factor, divisor) = scale(suffix)?;
        let mantissa: i128 = format!("0{whole}{fraction}").parse().ok()?;
        let places = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let scaled = mantissa.checked_mul(factor)?.checked_mul(BILLION)?;
        let value = scaled / places.checked_mul(divisor)?;
        Some(Self(if negative { -value } else { value }))
    }

    pub(crate) fn is_negative(self) -> bool {
        self.0 < 0
    }

    pub(crate) fn is_whole(self) -> bool {
        self.0 % BILLION == 0
    }

    /// Rounded down; `None` if it is negative or does not fit.
    pub(crate) fn floor(self) -> Option<u64> {
        u64::try_from(self.0.div_euclid(BILLION)).ok()
    }
}

/// Always in the same unit, so that equal quantities have equal texts.
impl fmt::Display for ParsedQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}n", self.0)
    }
}

/// Factor and divisor of a suffix.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    let up = |power: u32| Some((10_i128.pow(power), 1));
    let down = |power: u32| Some((1, 10_i128.pow(power)));
    let binary = |power: u32| Some((1_i128 << (10 * power), 1));
    match suffix {
        "n" => down(9),
        "u" => down(6),
        "m" => down(3),
        "" => up(0),
        "k" => up(3),
        "M" => up(6),
        "G" => up(9),
        "T" => up(12),
        "P" => up(15),
        "E" => up(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => match suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()? {
            power @ 0..=18 => up(power.unsigned_abs()),
            power @ -18..0 => down(power.unsigned_abs()),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1", "1000m")]
    #[case("1.5Gi", "1536Mi")]
    #[case("0.1", "100m")]
    #[case(".5", "5e-1")]
    #[case("1e3", "1k")]
    #[case("2.", "2")]
    #[case("+1Ki", "1024")]
    #[case("-1", "-1000m")]
    fn equal_quantities_are_equal_however_they_are_written(#[case] one: &str, #[case] other: &str) {
        assert_eq!(ParsedQuantity::parse(one).unwrap(), ParsedQuantity::parse(other).unwrap());
    }

    #[rstest]
    #[case("")]
    #[case("-")]
    #[case(".")]
    #[case("1.2.3")]
    #[case("1 Gi")]
    #[case("1gi")]
    #[case("2GB")]
    #[case("1e")]
    #[case("lots")]
    #[case("1e99")]
    #[case("99999999999999999999999999999999999999999")]
    fn what_is_not_a_quantity_is_refused(#[case] text: &str) {
        assert_eq!(ParsedQuantity::parse(text), None);
    }

    #[rstest]
    #[case("8Mi", Some(8 << 20))]
    #[case("1500m", Some(1))]
    #[case("0", Some(0))]
    #[case("-1m", None)]
    #[case("99E", None)]
    fn whole_quantities_are_numbers(#[case] text: &str, #[case] expected: Option<u64>) {
        assert_eq!(ParsedQuantity::parse(text).unwrap().floor(), expected);
    }

    proptest::proptest! {
        #[test]
        fn quantities_are_ordered_as_numbers(a in 0_u32.., b in 0_u32.., suffix in "[mkMG]|Ki|Mi|Gi|") {
            let quantity = |n: u32| ParsedQuantity::parse(&format!("{n}{suffix}")).unwrap();
            proptest::prop_assert_eq!(quantity(a).cmp(&quantity(b)), a.cmp(&b));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = ParsedQuantity::parse(&text);
        }
    }
}
