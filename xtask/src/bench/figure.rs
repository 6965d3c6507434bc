//! A measured number, usually with a limit.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Bar {
    AtMost,
    AtLeast,
    /// The number explains others and has no limit.
    None,
}

/// A number that was measured several times.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    /// What was measured, `part.what`.
    pub(super) name: Cow<'static, str>,
    pub(super) unit: &'static str,
    pub(super) bar: Bar,
    pub(super) limit: f64,
    /// All samples in the order of measurement.
    pub(super) samples: Vec<f64>,
    /// What the number was computed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

impl Figure {
    pub(super) fn at_most(
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        limit: f64,
        samples: Vec<f64>,
    ) -> Self {
        Self { name: name.into(), unit, bar: Bar::AtMost, limit, samples, note: None }
    }

    pub(super) fn at_least(
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        limit: f64,
        samples: Vec<f64>,
    ) -> Self {
        Self { name: name.into(), unit, bar: Bar::AtLeast, limit, samples, note: None }
    }

    pub(super) fn without_limit(
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        samples: Vec<f64>,
    ) -> Self {
        Self { name: name.into(), unit, bar: Bar::None, limit: 0.0, samples, note: None }
    }

    pub(super) fn with_note(self, note: String) -> Self {
        Self { note: Some(note), ..self }
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
            Bar::None => !self.samples.is_empty(),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, unit, bar, limit, samples, note } = self;
        let verdict = if self.holds() { "ok" } else { "short" };
        write!(f, "figure {name} {:.3} {unit}", self.median())?;
        match bar {
            Bar::AtMost => write!(f, " bar <= {limit} {verdict}")?,
            Bar::AtLeast => write!(f, " bar >= {limit} {verdict}")?,
            Bar::None => (),
        }
        let (min, max) = (samples.iter().copied().reduce(f64::min), samples.iter().copied().reduce(f64::max));
        if let (Some(min), Some(max), 2..) = (min, max, samples.len()) {
            write!(f, "  ({min:.3} to {max:.3}, n={})", samples.len())?;
        }
        note.iter().try_for_each(|note| write!(f, "  {note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(samples: &[f64]) -> Figure {
        Figure::at_most("a.b", "s", 6.0, samples.to_vec())
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
    fn a_figure_without_a_limit_has_no_verdict() {
        let figure = Figure::without_limit("a.b", "%", vec![5.0]).with_note("5 of 100".to_owned());
        assert_eq!(figure.to_string(), "figure a.b 5.000 %  5 of 100");
        assert!(figure.holds());
    }

    #[test]
    fn a_figure_without_samples_is_short() {
        assert!(!figure(&[]).holds());
    }
}
