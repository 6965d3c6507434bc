//! The comparisons of a page with what every section needs of them.

use crate::outcome::Outcome;
use crate::report::summary::{Summary, SummaryError};
use crate::report::wording;

/// One distorted clip on the page.
pub(super) struct Clip<'a> {
    /// Which one; its curves have the same number.
    pub(super) index: usize,
    /// The name by which the page calls it.
    pub(super) name: String,
    pub(super) outcome: &'a Outcome,
    pub(super) summary: Summary,
}

/// All clips, each under a name of its own.
pub(super) fn all(outcomes: &[Outcome]) -> Result<Vec<Clip<'_>>, SummaryError> {
    let named = outcomes.iter().zip(wording::clip_names(outcomes)).enumerate();
    named
        .map(|(index, (outcome, name))| Ok(Clip { index, name, outcome, summary: Summary::of(outcome)? }))
        .collect()
}

/// When a frame is shown, `1:05.040`, where the frame rate is known.
pub(super) fn time(frame: u64, rate: Option<f64>) -> Option<String> {
    let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0)?;
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let milliseconds = (frame as f64 / rate * 1000.0).round() as u64;
    let (minutes, rest) = (milliseconds / 60_000, milliseconds % 60_000);
    let (hours, minutes) = (minutes / 60, minutes % 60);
    let seconds = format!("{:02}.{:03}", rest / 1000, rest % 1000);
    Some(if hours > 0 { format!("{hours}:{minutes:02}:{seconds}") } else { format!("{minutes}:{seconds}") })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, Some(25.0), Some("0:00.000"))]
    #[case(1626, Some(25.0), Some("1:05.040"))]
    #[case(100_000, Some(24.0), Some("1:09:26.667"))]
    #[case(5, None, None)]
    #[case(5, Some(0.0), None)]
    fn frames_have_a_time_where_the_rate_is_known(
        #[case] frame: u64,
        #[case] rate: Option<f64>,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(time(frame, rate).as_deref(), expected);
    }
}
