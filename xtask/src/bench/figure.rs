//! A measured number with a limit.

use std::fmt;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Bar {
    AtMost,
    AtLeast,
}

/// A number that was measured several times.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    /// What was measured, `part.what`.
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) bar: Bar,
    pub(super) limit: f64,
    /// All samples in the order of measurement.
    pub(super) samples: Vec<f64>,
}

impl Figure {
    pub(super) fn at_most(name: &'static str, unit: &'static str, limit: f64, samples: Vec<f64>) -> Self {
        Self { name, unit, bar: Bar::AtMost, limit, samples }
    }

    pub(super) fn at_least(name: &'static str, unit: &'static str, limit: f64, samples: Vec<f64>) -> Self {
        Self { name, unit, bar: Bar::AtLeast, limit, samples }
    }

    /// The median, which a single disturbed run does not move.
    pub(super) fn median(&self) -> f64 {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[middle],
            _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
        }
    }

    /// Whether the median is within the limit. Without samples it is not.
    pub(super) fn holds(&self) -> bool {
        match self.bar {
            Bar::AtMost => self.median() <= self.limit,
            Bar::AtLeast => self.median() >= self.limit,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, unit, bar, limit, samples } = self;
        let sign = match bar {
            Bar::AtMost => "<=",
            Bar::AtLeast => ">=",
        };
        let verdict = if self.holds() { "ok" } else { "short" };
        write!(f, "figure {name} {:.3} {unit} bar {sign} {limit} {verdict}", self.median())?;
        let (min, max) = (samples.iter().copied().reduce(f64::min), samples.iter().copied().reduce(f64::max));
        match (min, max) {
            (Some(min), Some(max)) => write!(f, "  ({min:.3} to {max:.3}, n={})", samples.len()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(samples: &[f64]) -> Figure {
        Figure { name: "a.b", unit: "s", bar: Bar::AtMost, limit: 6.0, samples: samples.to_vec() }
    }

    #[test]
    fn a_line_has_value_limit_and_verdict() {
        let line = figure(&[5.0, 9.0, 4.0]).to_string();
        assert_eq!(line, "figure a.b 5.000 s bar <= 6 ok  (4.000 to 9.000, n=3)");
        assert!(figure(&[7.0, 6.5]).to_string().starts_with("figure a.b 6.750 s bar <= 6 short"));
    }

    #[test]
    fn a_limit_may_be_a_minimum() {
        let figure = Figure { bar: Bar::AtLeast, limit: 1.5, ..figure(&[1.6, 1.4, 1.7]) };
        assert_eq!(figure.to_string(), "figure a.b 1.600 s bar >= 1.5 ok  (1.400 to 1.700, n=3)");
    }

    #[test]
    fn a_figure_without_samples_is_short() {
        assert!(!figure(&[]).holds());
    }
}
