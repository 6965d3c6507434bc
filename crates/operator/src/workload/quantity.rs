//! Amounts, as far as two of them must be compared: the API server writes `1024Mi` as `1Gi`.

/// In billionths, or nothing if it is not an amount that fits.
pub(super) fn billionths(text: &str) -> Option<i128> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')));
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let decimal = |exponent: i32| {
        let exponent = exponent + 9 - i32::try_from(fraction.len()).ok()?;
        let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
        if exponent >= 0 { digits.checked_mul(power) } else { (digits % power == 0).then(|| digits / power) }
    };
    let binary = |power: u32| {
        let scaled = digits.checked_mul(1024_i128.checked_pow(power)?)?.checked_mul(1_000_000_000)?;
        let divisor = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        (scaled % divisor == 0).then(|| scaled / divisor)
    };
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => decimal(exponent.strip_prefix(['e', 'E'])?.parse::<i8>().ok()?.into()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1024Mi", "1Gi")]
    #[case("0.5Gi", "512Mi")]
    #[case("1000m", "1")]
    #[case("1.50", "1500m")]
    #[case("1e3", "1k")]
    #[case("2E", "2000P")]
    fn two_ways_to_write_one_amount(#[case] one: &str, #[case] other: &str) {
        assert!(billionths(one).is_some(), "{one}");
        assert_eq!(billionths(one), billionths(other));
    }

    #[rstest]
    #[case("1Gi", "1G")]
    #[case("1", "1m")]
    fn two_amounts(#[case] one: &str, #[case] other: &str) {
        assert_ne!(billionths(one), billionths(other));
    }

    #[rstest]
    #[case("")]
    #[case("much")]
    #[case("1Xi")]
    #[case("99999999999999999999999999999999999999Ei")]
    fn no_amount(#[case] text: &str) {
        assert_eq!(billionths(text), None);
    }
}
