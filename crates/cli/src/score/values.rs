//! Values of options, parsed once and right from then on.

/// A value that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// No number, or none that makes sense.
    #[error("a number {0} is needed")]
    Number(&'static str),
}

/// A frame rate: a number above zero, or a fraction such as 30000/1001.
pub(super) fn rate(text: &str) -> Result<f64, ValueError> {
    let parse = |text: &str| text.parse::<f64>().ok();
    let value = match text.split_once('/') {
        Some((top, bottom)) => parse(top).zip(parse(bottom)).map(|(top, bottom)| top / bottom),
        None => parse(text),
    };
    value
        .filter(|rate| rate.is_finite() && *rate > 0.0)
        .ok_or(ValueError::Number("above zero, or a fraction,"))
}

/// A score that can be compared with.
pub(crate) fn score(text: &str) -> Result<f64, ValueError> {
    // A bar that is not a number would let everything pass.
    text.parse().ok().filter(|score: &f64| score.is_finite()).ok_or(ValueError::Number("such as 93"))
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // What was written is what must be read.
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
        assert_eq!(rate(text).ok(), expected);
    }

    #[rstest]
    #[case("93.5", true)]
    #[case("nan", false)]
    #[case("inf", false)]
    #[case("high", false)]
    fn a_bar_is_a_number(#[case] text: &str, #[case] good: bool) {
        assert_eq!(score(text).is_ok(), good);
    }
}
