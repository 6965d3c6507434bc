//! `--min-score`: the clips whose mean score is below it.

use std::path::Path;

use vmafx_scoring::outcome::ScoringOutcome;
use vmafx_scoring::report::ScoreSummary;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClipBelowMinimum<'a> {
    clip: &'a Path,
    model: &'a str,
    mean: f64,
    minimum: f64,
}

impl ClipBelowMinimum<'_> {
    pub(super) fn message(&self) -> String {
        // Enough digits to tell the two numbers apart: rounding 92.996 to 93.00 would print "93.00 is below 93".
        let decimals =
            (2..15).find(|&digits| format!("{:.digits$}", self.mean) != format!("{:.digits$}", self.minimum));
        let digits = decimals.unwrap_or(15);
        format!(
            "below --min-score {}: {} has a mean of {:.digits$} ({})",
            self.minimum,
            self.clip.display(),
            self.mean,
            self.model
        )
    }
}

/// The clips whose mean score of the first model is below the minimum.
pub(super) fn below<'a>(
    results: &'a [(&'a ScoringOutcome, ScoreSummary)],
    minimum: Option<f64>,
) -> Vec<ClipBelowMinimum<'a>> {
    let Some(minimum) = minimum else { return vec![] };
    results
        .iter()
        .filter_map(|(outcome, summary)| {
            let model = summary.models.first()?;
            let mean = model.pooled.mean;
            let clip = &outcome.distorted.path;
            (mean < minimum).then(|| ClipBelowMinimum { clip, model: &model.name, mean, minimum })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::score::example::outcome;

    fn messages(scores: &[f64], minimum: Option<f64>) -> Vec<String> {
        let outcomes: Vec<_> =
            scores.iter().map(|score| outcome(&format!("{score}.mp4"), &[*score])).collect();
        let results: Vec<_> =
            outcomes.iter().map(|outcome| (outcome, ScoreSummary::of(outcome).unwrap())).collect();
        below(&results, minimum).iter().map(ClipBelowMinimum::message).collect()
    }

    #[rstest]
    #[case::no_minimum(None, 0)]
    #[case::all_above(Some(79.0), 0)]
    #[case::equal_passes(Some(80.0), 0)]
    #[case::one_below(Some(80.5), 1)]
    #[case::all_below(Some(100.0), 2)]
    fn a_clip_must_reach_the_minimum(#[case] minimum: Option<f64>, #[case] expected: usize) {
        assert_eq!(messages(&[80.0, 90.0], minimum).len(), expected);
    }

    #[test]
    fn a_near_miss_shows_enough_digits() {
        let message = "below --min-score 93: 92.9996.mp4 has a mean of 92.9996 (vmaf_v0.6.1)";
        assert_eq!(messages(&[92.999_6], Some(93.0)), [message]);
    }
}
