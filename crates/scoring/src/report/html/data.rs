//! The curves as data for the script of the page.

use serde::{Serialize, Serializer};

use super::clips::ReportedClip;
use crate::report::metrics;

/// With more feature values, a browser would take seconds to open the page.
const MAX_FEATURE_VALUES: usize = 4_000_000;

#[derive(Serialize)]
pub(super) struct PlotData<'a> {
    clips: Vec<ClipData<'a>>,
    #[serde(skip)]
    complete: bool,
}

#[derive(Serialize)]
struct ClipData<'a> {
    name: &'a str,
    rate: Option<f64>,
    frames: &'a [u64],
    /// The frames that shots begin with, except the first.
    cuts: Vec<u64>,
    models: Vec<Curve<'a>>,
    features: Vec<Curve<'a>>,
}

#[derive(Serialize)]
struct Curve<'a> {
    name: String,
    values: Rounded<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    band: Option<Band>,
}

/// A confidence interval around a curve.
#[derive(Serialize)]
struct Band {
    low: Vec<f64>,
    high: Vec<f64>,
}

/// Numbers rounded to what a plot can show, which takes a third of the bytes of all digits.
struct Rounded<'a> {
    values: &'a [f64],
    scale: f64,
}

const FOUR_DECIMALS: f64 = 1e4;
const SIX_DECIMALS: f64 = 1e6;

impl<'a> PlotData<'a> {
    pub(super) fn of(clips: &'a [ReportedClip<'a>]) -> Self {
        let values: usize =
            clips.iter().map(|clip| clip.outcome.features.len() * clip.outcome.frames.len()).sum();
        let complete = values <= MAX_FEATURE_VALUES;
        Self { clips: clips.iter().map(|clip| ClipData::of(clip, complete)).collect(), complete }
    }

    /// A note below the plot, if it shows cuts.
    pub(super) fn cuts_note(&self) -> &'static str {
        if self.clips.iter().any(|clip| !clip.cuts.is_empty()) { "Vertical lines are cuts. " } else { "" }
    }

    /// Another note below the plot.
    pub(super) fn note(&self) -> &'static str {
        if self.complete {
            ""
        } else {
            "The per-frame features of clips this long are left out of the page: the JSON and CSV reports have them."
        }
    }
}

impl<'a> ClipData<'a> {
    fn of(clip: &'a ReportedClip<'a>, with_features: bool) -> Self {
        let outcome = clip.outcome;
        let models = outcome.models.iter().map(|model| Curve {
            name: model.name.clone(),
            values: Rounded { values: &model.scores, scale: FOUR_DECIMALS },
            band: model.intervals.as_ref().map(|intervals| Band {
                low: intervals.iter().map(|interval| round(interval.low, FOUR_DECIMALS)).collect(),
                high: intervals.iter().map(|interval| round(interval.high, FOUR_DECIMALS)).collect(),
            }),
        });
        let features = outcome.features.iter().filter(|_| with_features).map(|(name, values)| Curve {
            name: metrics::short_name(name),
            values: Rounded { values, scale: SIX_DECIMALS },
            band: None,
        });
        Self {
            name: &clip.name,
            rate: outcome.frame_rate(),
            frames: &outcome.frames,
            cuts: outcome.shots.iter().skip(1).map(|shot| shot.first_frame).collect(),
            models: models.collect(),
            features: features.collect(),
        }
    }
}

impl Serialize for Rounded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.values.iter().map(|value| round(*value, self.scale)))
    }
}

fn round(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ScoringOutcome;
    use crate::report::example::{bootstrap, outcome};
    use crate::report::html::clips;
    use crate::shots::Shot;

    #[test]
    fn curves_are_rounded_and_have_their_confidence_intervals() {
        let outcomes = [bootstrap(&[92.520_958_88, f64::from(1_u8) / 3.0])];
        let clips = clips::all(&outcomes).unwrap();
        let json = serde_json::to_value(PlotData::of(&clips)).unwrap();
        assert_eq!(json["clips"][0]["models"][0]["values"], serde_json::json!([92.521, 0.3333]));
        assert_eq!(json["clips"][0]["models"][0]["band"]["low"][0], 90.521);
        assert_eq!(json["clips"][0]["features"][2]["name"], "psnr_y");
    }

    #[test]
    fn the_plot_is_given_the_cuts() {
        let shot = |first_frame, frames| Shot { first_frame, frames };
        let outcomes =
            [ScoringOutcome { shots: vec![shot(0, 1), shot(1, 2)], ..outcome("a.mp4", &[90.0, 80.0, 70.0]) }];
        let clips = clips::all(&outcomes).unwrap();
        let data = PlotData::of(&clips);
        assert!(data.cuts_note().contains("cuts"));
        assert_eq!(serde_json::to_value(data).unwrap()["clips"][0]["cuts"], serde_json::json!([1]));
    }

    #[test]
    fn features_that_would_stall_the_browser_are_omitted_with_a_note() {
        let long = outcome("long.mp4", &vec![90.0; MAX_FEATURE_VALUES / 3 + 1]);
        let outcomes = [long];
        let clips = clips::all(&outcomes).unwrap();
        let data = PlotData::of(&clips);
        assert!(data.clips[0].features.is_empty() && data.note().contains("JSON"));
        assert_eq!(data.clips[0].models.len(), 1);
    }
}
