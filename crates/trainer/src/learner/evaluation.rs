//! The quality of the trained model and of the base model on the same samples.
//!
//! The evaluation is prequential: every accepted sample, held out or not, is predicted before it is learned from, so
//! no prediction depends on its own label. RMSE and PLCC over all samples are exact, from running sums. SROCC needs
//! all values at once; it is exact up to `rank_capacity` samples and an estimate from a uniform random sample beyond.

mod moments;
mod rank;

use super::random::SplitMix64;
use super::state::{StateReader, StateWriter};
use super::{LearnerError, LearnerOptions};
use moments::RunningMoments;

#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    pub all: ModelComparison,
    /// Over the most recent samples.
    pub window: ModelComparison,
}

/// The trained model and the base model on the same samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelComparison {
    pub model: QualityMetrics,
    pub base: QualityMetrics,
}

/// Agreement of predictions with labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QualityMetrics {
    pub count: u64,
    /// Root mean squared error in points; zero while there are no samples.
    pub rmse: f64,
    /// Pearson correlation; `None` while labels or predictions are all equal.
    pub plcc: Option<f64>,
    /// Spearman rank correlation; `None` while labels or predictions are all equal.
    pub srocc: Option<f64>,
}

/// The predictions of both models for one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SamplePredictions {
    pub(super) model: f64,
    pub(super) base: f64,
    pub(super) label: f64,
}

impl ModelComparison {
    pub(super) fn of(samples: &[SamplePredictions]) -> Self {
        let labels: Vec<f64> = samples.iter().map(|sample| sample.label).collect();
        let metrics = |predictions: Vec<f64>| {
            let mut moments = RunningMoments::default();
            for (&prediction, &label) in predictions.iter().zip(&labels) {
                moments.add(prediction, label);
            }
            moments.metrics(rank::correlation(&predictions, &labels))
        };
        Self {
            model: metrics(samples.iter().map(|sample| sample.model).collect()),
            base: metrics(samples.iter().map(|sample| sample.base).collect()),
        }
    }
}

/// The evaluation while samples arrive.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunningEvaluation {
    model: RunningMoments,
    base: RunningMoments,
    /// Ring buffer of the most recent samples; `oldest` is the index of its oldest one.
    window: Vec<SamplePredictions>,
    oldest: usize,
    window_capacity: usize,
    /// A uniform random sample of all samples (a reservoir), for the rank correlation.
    reservoir: Vec<SamplePredictions>,
    reservoir_capacity: usize,
}

impl RunningEvaluation {
    pub(super) fn new(options: &LearnerOptions) -> Self {
        Self {
            model: RunningMoments::default(),
            base: RunningMoments::default(),
            window: Vec::new(),
            oldest: 0,
            window_capacity: options.window,
            reservoir: Vec::new(),
            reservoir_capacity: options.rank_capacity,
        }
    }

    pub(super) fn add(&mut self, sample: SamplePredictions, random: &mut SplitMix64) {
        self.model.add(sample.model, sample.label);
        self.base.add(sample.base, sample.label);
        if self.window.len() < self.window_capacity {
            self.window.push(sample);
        } else {
            self.window[self.oldest] = sample;
            self.oldest = (self.oldest + 1) % self.window.len();
        }
        match random.reservoir_index(self.model.count, self.reservoir_capacity) {
            Some(index) if index < self.reservoir.len() => self.reservoir[index] = sample,
            Some(_) => self.reservoir.push(sample),
            None => {}
        }
    }

    pub(super) fn evaluation(&self) -> Evaluation {
        let ranked = ModelComparison::of(&self.reservoir);
        let all = ModelComparison {
            model: self.model.metrics(ranked.model.srocc),
            base: self.base.metrics(ranked.base.srocc),
        };
        Evaluation { all, window: ModelComparison::of(&self.oldest_first().collect::<Vec<_>>()) }
    }

    /// The window from its oldest sample on. Floating-point sums depend on the order, and a restored ring buffer
    /// starts at another index.
    fn oldest_first(&self) -> impl Iterator<Item = SamplePredictions> {
        let (newer, older) = self.window.split_at(self.oldest);
        older.iter().chain(newer).copied()
    }

    pub(super) fn write(&self, writer: &mut StateWriter) {
        for moments in [&self.model, &self.base] {
            moments.write(writer);
        }
        writer.count(self.window.len());
        self.oldest_first().for_each(|sample| sample.write(writer));
        writer.count(self.reservoir.len());
        self.reservoir.iter().for_each(|sample| sample.write(writer));
    }

    /// If the window is smaller than the one that was written, it keeps the most recent samples.
    pub(super) fn read(options: &LearnerOptions, reader: &mut StateReader<'_>) -> Result<Self, LearnerError> {
        let (model, base) = (RunningMoments::read(reader)?, RunningMoments::read(reader)?);
        let mut window = SamplePredictions::list(reader)?;
        window.drain(..window.len().saturating_sub(options.window));
        let mut reservoir = SamplePredictions::list(reader)?;
        reservoir.truncate(options.rank_capacity);
        Ok(Self { model, base, window, reservoir, ..Self::new(options) })
    }
}

impl SamplePredictions {
    fn write(&self, writer: &mut StateWriter) {
        writer.numbers(&[self.model, self.base, self.label]);
    }

    fn list(reader: &mut StateReader<'_>) -> Result<Vec<Self>, LearnerError> {
        reader.list(3, |reader| {
            Ok(Self { model: reader.number()?, base: reader.number()?, label: reader.number()? })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(index: u32) -> SamplePredictions {
        let label = f64::from(index * 37 % 101);
        SamplePredictions { model: label * 0.9 + f64::from(index % 7), base: 100.0 - label, label }
    }

    fn evaluated(options: &LearnerOptions, count: u32) -> RunningEvaluation {
        let (mut running, mut random) = (RunningEvaluation::new(options), SplitMix64::new(5));
        (0..count).for_each(|index| running.add(sample(index), &mut random));
        running
    }

    #[test]
    fn the_window_holds_only_the_most_recent_samples() {
        let options = LearnerOptions { window: 50, ..LearnerOptions::default() };
        let evaluation = evaluated(&options, 500).evaluation();
        assert_eq!((evaluation.all.model.count, evaluation.window.model.count), (500, 50));
        let recent: Vec<SamplePredictions> = (450..500).map(sample).collect();
        let (found, expected) = (evaluation.window.model, ModelComparison::of(&recent).model);
        assert!((found.rmse - expected.rmse).abs() < 1e-12);
        assert_eq!(found.srocc, expected.srocc);
        assert_eq!(evaluation.all.base.srocc, Some(-1.0));
    }

    #[test]
    fn the_rank_correlation_over_all_is_exact_while_the_reservoir_holds_all() {
        let evaluation = evaluated(&LearnerOptions::default(), 4096).evaluation();
        let exact = ModelComparison::of(&(0..4096).map(sample).collect::<Vec<_>>());
        let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-12;
        assert!(near(evaluation.all.model.srocc, exact.model.srocc));
        assert!(near(evaluation.all.model.plcc, exact.model.plcc));
    }

    #[test]
    fn beyond_that_it_is_estimated_from_all_and_not_from_the_first() {
        // The first quarter is in reverse order, so an estimate from it alone would be far off.
        let options = LearnerOptions { rank_capacity: 1000, ..LearnerOptions::default() };
        let (mut running, mut random) = (RunningEvaluation::new(&options), SplitMix64::new(5));
        let mut all = Vec::new();
        for index in 0..8000 {
            let mut sample = sample(index);
            if index < 2000 {
                sample.model = 100.0 - sample.model;
            }
            all.push(sample);
            running.add(sample, &mut random);
        }
        let (estimate, exact) = (running.evaluation().all.model.srocc, ModelComparison::of(&all).model.srocc);
        assert!((estimate.unwrap() - exact.unwrap()).abs() < 0.08, "{estimate:?} {exact:?}");
    }
}
