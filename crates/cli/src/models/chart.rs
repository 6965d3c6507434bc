//! Accuracy over samples: the data of a plot, for the terminal and for HTML.

use super::checkpoints::Checkpoint;

/// A metric of the trained model and of its base model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chart {
    /// `RMSE` or `SROCC`.
    pub(super) name: &'static str,
    /// What the metric measures, and whether lower or higher is better.
    pub(super) description: &'static str,
    /// Names of the trained model and of its base model.
    pub(super) legend: [String; 2],
    pub(super) model: Vec<Point>,
    pub(super) base: Vec<Point>,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Digits after the decimal point of a value.
    pub(super) decimals: usize,
}

/// The metric of one checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) version: String,
    pub(super) stable: bool,
}

/// An axis that begins and ends at round numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    step: f64,
}

impl Chart {
    /// The charts of checkpoints, all of which belong to one training. The newest is first.
    pub(super) fn rmse_and_srocc(checkpoints: &[Checkpoint]) -> Vec<Self> {
        let newest = checkpoints.first().map(|checkpoint| &checkpoint.metadata);
        let legend = || {
            let name = |text: Option<&String>| text.cloned().unwrap_or_default();
            [name(newest.map(|metadata| &metadata.name)), name(newest.map(|metadata| &metadata.base_model))]
        };
        let rmse = Self::points(checkpoints, |metrics| (metrics.count > 0).then_some(metrics.rmse));
        let srocc = Self::points(checkpoints, |metrics| metrics.srocc);
        let chart = |name, description, decimals, (model, base): (Vec<Point>, Vec<Point>)| {
            let all = || model.iter().chain(&base);
            let (x, y) = (all().map(|point| point.x).chain([0.0]), all().map(|point| point.y));
            let (x, y) = (Axis::around(x, 8.0), Axis::around(y, 5.0));
            Self { name, description, legend: legend(), x, y, decimals, model, base }
        };
        vec![
            chart("RMSE", "error against the opinion of viewers, lower is better", 2, rmse),
            chart("SROCC", "rank correlation with the opinion of viewers, higher is better", 4, srocc),
        ]
    }

    #[expect(clippy::cast_precision_loss, reason = "the number of samples is far below 2^52")]
    /// The points of the trained model and of its base model, the oldest first.
    fn points(
        checkpoints: &[Checkpoint],
        value: impl Fn(&vmafx_oci::checkpoint::PredictionMetrics) -> Option<f64>,
    ) -> (Vec<Point>, Vec<Point>) {
        let line = |pick: &dyn Fn(&Checkpoint) -> Option<f64>| {
            let points = checkpoints.iter().rev().filter_map(|checkpoint| {
                let y = pick(checkpoint).filter(|y| y.is_finite())?;
                let (x, stable) = (checkpoint.metadata.samples as f64, checkpoint.stable);
                Some(Point { x, y, version: checkpoint.metadata.version(), stable })
            });
            points.collect()
        };
        (
            line(&|checkpoint| value(&checkpoint.metadata.all.model)),
            line(&|checkpoint| value(&checkpoint.metadata.all.base)),
        )
    }
}

impl Axis {
    /// An axis that contains all values, with about `steps` ticks.
    fn around(values: impl Iterator<Item = f64>, steps: f64) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let range = high - low;
        // A single value needs an axis with a length, too.
        let range = if range > 0.0 { range } else { high.abs().max(1.0) * 0.1 };
        let step = round_step(range / steps);
        let (first, last) = ((low / step).floor() * step, (high / step).ceil() * step);
        let last = if last > first { last } else { first + step };
        Self { low: first, high: last, step }
    }

    /// The position of a value on the axis, from 0 to 1.
    pub(super) fn position(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is small and not negative"
    )]
    pub(super) fn ticks(&self) -> Vec<f64> {
        let count = ((self.high - self.low) / self.step).round() as u32;
        (0..=count.min(20)).map(|tick| self.low + f64::from(tick) * self.step).collect()
    }

    /// The text of a tick, with enough digits to distinguish it from its neighbours.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is small and not negative"
    )]
    pub(super) fn label(&self, tick: f64) -> String {
        let decimals = (-self.step.log10().floor()).clamp(0.0, 8.0) as usize;
        format!("{tick:.decimals$}")
    }
}

/// The smallest number of the form 1, 2 or 5 times a power of ten that is not below `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= rough * 0.999);
    digit.unwrap_or(10.0) * power
}

#[cfg(test)]
pub(super) fn example() -> Vec<Chart> {
    Chart::rmse_and_srocc(&super::checkpoints::example())
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
        let axis = Axis::around(values.iter().copied(), 5.0);
        let labels: Vec<_> = axis.ticks().into_iter().map(|tick| axis.label(tick)).collect();
        assert_eq!(labels, expected);
        assert!(values.iter().all(|value| axis.low <= *value && *value <= axis.high), "{labels:?}");
    }

    #[test]
    fn positions_are_within_the_axis() {
        let axis = Axis::around([0.0, 100.0].into_iter(), 5.0);
        let positions = [0.0, 50.0, 100.0, 200.0].map(|value| axis.position(value).to_string());
        assert_eq!(positions, ["0", "0.5", "1", "1"]);
    }
}
