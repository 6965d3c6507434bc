//! Parsers of numeric options.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a number {0}")]
pub struct NumberError(&'static str);

pub(super) fn frame_rate(text: &str) -> Result<f64, NumberError> {
    let parse = |text: &str| text.parse::<f64>().ok();
    let value = match text.split_once('/') {
        Some((numerator, denominator)) => parse(numerator).zip(parse(denominator)).map(|(n, d)| n / d),
        None => parse(text),
    };
    value
        .filter(|rate| rate.is_finite() && *rate > 0.0)
        .ok_or(NumberError("above zero or a fraction such as 30000/1001"))
}

pub(crate) fn score(text: &str) -> Result<f64, NumberError> {
    // No score is below NaN: every clip would pass.
    text.parse().ok().filter(|score: &f64| score.is_finite()).ok_or(NumberError("such as 93"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("25", Some(25.0))]
    #[case("30000/1001", Some(30000.0 / 1001.0))]
    #[case("1/0", None)]
    #[case("0", None)]
    #[case("nan", None)]
    #[case("-25", None)]
    fn frame_rates_are_numbers_or_fractions(#[case] text: &str, #[case] expected: Option<f64>) {
        assert_eq!(frame_rate(text).ok(), expected);
    }

    #[rstest]
    #[case("93.5", true)]
    #[case("nan", false)]
    #[case("inf", false)]
    #[case("high", false)]
    fn a_score_is_a_finite_number(#[case] text: &str, #[case] good: bool) {
        assert_eq!(score(text).is_ok(), good);
    }
}
