//! Accuracy over samples: what is drawn, wherever it is drawn.

use super::versions::Version;

/// One plot: the learned model and its base.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chart {
    /// `RMSE`
    pub(super) name: &'static str,
    /// What is good.
    pub(super) about: &'static str,
    /// Whom the lines are of.
    pub(super) legend: [String; 2],
    pub(super) model: Vec<Point>,
    pub(super) base: Vec<Point>,
    pub(super) x: Scale,
    pub(super) y: Scale,
    /// Digits behind the point of a value.
    pub(super) decimals: usize,
}

/// One checkpoint in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) version: String,
    pub(super) stable: bool,
}

/// An axis that begins and ends at round numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    step: f64,
}

impl Chart {
    /// RMSE and SROCC of these checkpoints, which are of one training.
    pub(super) fn both(versions: &[Version]) -> Vec<Self> {
        let newest = versions.first().map(|version| &version.facts);
        let legend = || {
            let name = |text: Option<&String>| text.cloned().unwrap_or_default();
            [name(newest.map(|facts| &facts.name)), name(newest.map(|facts| &facts.base_model))]
        };
        let rmse = Self::of(versions, |metrics| (metrics.count > 0).then_some(metrics.rmse));
        let srocc = Self::of(versions, |metrics| metrics.srocc);
        let chart = |name, about, decimals, (model, base): (Vec<Point>, Vec<Point>)| {
            let all = || model.iter().chain(&base);
            let (x, y) = (all().map(|point| point.x).chain([0.0]), all().map(|point| point.y));
            let (x, y) = (Scale::around(x, 8.0), Scale::around(y, 5.0));
            Self { name, about, legend: legend(), x, y, decimals, model, base }
        };
        vec![
            chart("RMSE", "distance from what viewers said, lower is better", 2, rmse),
            chart("SROCC", "agreement with the viewers' ranking, higher is better", 4, srocc),
        ]
    }

    #[expect(clippy::cast_precision_loss, reason = "a plot is coarser than that")]
    fn of(
        versions: &[Version],
        value: impl Fn(&vmafx_oci::checkpoint::PredictionMetrics) -> Option<f64>,
    ) -> (Vec<Point>, Vec<Point>) {
        let line = |pick: &dyn Fn(&Version) -> Option<f64>| {
            let points = versions.iter().rev().filter_map(|version| {
                let y = pick(version).filter(|y| y.is_finite())?;
                let (x, stable) = (version.facts.samples as f64, version.stable);
                Some(Point { x, y, version: version.facts.version(), stable })
            });
            points.collect()
        };
        (line(&|version| value(&version.facts.all.model)), line(&|version| value(&version.facts.all.base)))
    }
}

impl Scale {
    /// Wide enough for all values, from one round number to another, in at most about so many steps.
    fn around(values: impl Iterator<Item = f64>, steps: f64) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let spread = high - low;
        // One value alone is in the middle of something.
        let spread = if spread > 0.0 { spread } else { high.abs().max(1.0) * 0.1 };
        let step = round_step(spread / steps);
        let (first, last) = ((low / step).floor() * step, (high / step).ceil() * step);
        let last = if last > first { last } else { first + step };
        Self { low: first, high: last, step }
    }

    /// Where a value is between 0 and 1.
    pub(super) fn at(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// The round numbers on it.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful")]
    pub(super) fn ticks(&self) -> Vec<f64> {
        let count = ((self.high - self.low) / self.step).round() as u32;
        (0..=count.min(20)).map(|tick| self.low + f64::from(tick) * self.step).collect()
    }

    /// A number of the axis, with the digits that tell it from its neighbours.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful")]
    pub(super) fn label(&self, tick: f64) -> String {
        let decimals = (-self.step.log10().floor()).clamp(0.0, 8.0) as usize;
        format!("{tick:.decimals$}")
    }
}

/// 1, 2 or 5 with zeros, at least as much.
fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= rough * 0.999);
    digit.unwrap_or(10.0) * power
}

/// The plots of a training that went well.
#[cfg(test)]
pub(super) fn example() -> Vec<Chart> {
    Chart::both(&super::versions::example())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[14.18, 19.64], &["14", "16", "18", "20"])]
    #[case(&[0.0, 372.0], &["0", "100", "200", "300", "400"])]
    #[case(&[0.8474, 0.8688], &["0.845", "0.850", "0.855", "0.860", "0.865", "0.870"])]
    #[case(&[5.1], &["5.0", "5.2"])]
    #[case(&[], &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"])]
    fn an_axis_has_round_numbers(#[case] values: &[f64], #[case] expected: &[&str]) {
        let scale = Scale::around(values.iter().copied(), 5.0);
        let labels: Vec<_> = scale.ticks().into_iter().map(|tick| scale.label(tick)).collect();
        assert_eq!(labels, expected);
        assert!(values.iter().all(|value| scale.low <= *value && *value <= scale.high), "{labels:?}");
    }

    #[test]
    fn a_value_has_its_place() {
        let scale = Scale::around([0.0, 100.0].into_iter(), 5.0);
        let places = [0.0, 50.0, 100.0, 200.0].map(|value| format!("{}", scale.at(value)));
        assert_eq!(places, ["0", "0.5", "1", "1"]);
    }
}
