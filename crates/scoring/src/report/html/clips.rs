//! The comparisons of a page, prepared for its sections.

use crate::outcome::ScoringOutcome;
use crate::report::summary::{ScoreSummary, SummaryError};
use crate::report::wording;

pub(super) struct ReportedClip<'a> {
    /// Also determines the colour of its curves.
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) outcome: &'a ScoringOutcome,
    pub(super) summary: ScoreSummary,
}

/// All clips, with unique names.
pub(super) fn all(outcomes: &[ScoringOutcome]) -> Result<Vec<ReportedClip<'_>>, SummaryError> {
    let named = outcomes.iter().zip(wording::clip_names(outcomes)).enumerate();
    named
        .map(|(index, (outcome, name))| {
            Ok(ReportedClip { index, name, outcome, summary: ScoreSummary::of(outcome)? })
        })
        .collect()
}

/// The time of a frame, such as `1:05.040`, if the frame rate is known.
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
    fn a_frame_has_a_time_if_the_frame_rate_is_known(
        #[case] frame: u64,
        #[case] rate: Option<f64>,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(time(frame, rate).as_deref(), expected);
    }
}
