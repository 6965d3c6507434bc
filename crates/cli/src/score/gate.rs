//! The bar that clips must reach.

use std::path::Path;

use vmafx_scoring::outcome::Outcome;
use vmafx_scoring::report::Summary;

/// A clip below the bar.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Miss<'a> {
    clip: &'a Path,
    model: &'a str,
    mean: f64,
    bar: f64,
}

impl Miss<'_> {
    /// What happened, for the user.
    pub(super) fn message(&self) -> String {
        // As many digits as tell the two apart: "92.99 is below 93" and not "93.00 is below 93".
        let decimals =
            (2..15).find(|&digits| format!("{:.digits$}", self.mean) != format!("{:.digits$}", self.bar));
        let digits = decimals.unwrap_or(15);
        format!(
            "below --min-score {}: {} has a mean of {:.digits$} ({})",
            self.bar,
            self.clip.display(),
            self.mean,
            self.model
        )
    }
}

/// The clips whose mean by the first model is below the bar.
pub(super) fn misses<'a>(results: &'a [(&'a Outcome, Summary)], bar: Option<f64>) -> Vec<Miss<'a>> {
    let Some(bar) = bar else { return vec![] };
    results
        .iter()
        .filter_map(|(outcome, summary)| {
            let model = summary.models.first()?;
            let mean = model.pooled.mean;
            (mean < bar).then(|| Miss { clip: &outcome.distorted.path, model: &model.name, mean, bar })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::score::example::outcome;

    fn missed(scores: &[f64], bar: Option<f64>) -> Vec<String> {
        let outcomes: Vec<_> =
            scores.iter().map(|score| outcome(&format!("{score}.mp4"), &[*score])).collect();
        let results: Vec<_> =
            outcomes.iter().map(|outcome| (outcome, Summary::of(outcome).unwrap())).collect();
        misses(&results, bar).iter().map(Miss::message).collect()
    }

    #[rstest]
    #[case::no_bar(None, 0)]
    #[case::all_above(Some(79.0), 0)]
    #[case::equal_passes(Some(80.0), 0)]
    #[case::one_below(Some(80.5), 1)]
    #[case::all_below(Some(100.0), 2)]
    fn a_clip_must_reach_the_bar(#[case] bar: Option<f64>, #[case] expected: usize) {
        assert_eq!(missed(&[80.0, 90.0], bar).len(), expected);
    }

    #[test]
    fn a_near_miss_shows_enough_digits() {
        let message = "below --min-score 93: 92.9996.mp4 has a mean of 92.9996 (vmaf_v0.6.1)";
        assert_eq!(missed(&[92.999_6], Some(93.0)), [message]);
    }
}
