//! How good a model is, beside the base model, on the same samples.
//!
//! Every accepted sample is predicted before it is learned from (prequential), the held-out ones too: no prediction has
//! seen its label. RMSE and PLCC of all samples are exact, by running sums. SROCC needs all values at once; its values
//! are exact up to `Options::ranked` samples and from there on those of so many, drawn without preference.

mod moments;
mod rank;

use super::random::Random;
use super::state::{Reader, Writer};
use super::{LearnerError, Options};
use moments::Moments;

/// Both evaluations.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Over every sample.
    pub all: Pair,
    /// Over the newest ones.
    pub window: Pair,
}

/// Both models on the same samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// The learned model.
    pub model: Metrics,
    /// The base model.
    pub base: Metrics,
}

/// How near a model is to the viewers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Samples.
    pub count: u64,
    /// Root of the mean squared error, in points. Zero while there are no samples.
    pub rmse: f64,
    /// Pearson's correlation; nothing while labels or predictions are all equal.
    pub plcc: Option<f64>,
    /// Spearman's rank correlation; nothing while labels or predictions are all equal.
    pub srocc: Option<f64>,
}

/// What both models said of a sample, and what viewers said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    pub(super) model: f64,
    pub(super) base: f64,
    pub(super) label: f64,
}

impl Pair {
    /// The figures of a list.
    pub(super) fn of(judged: &[Judged]) -> Self {
        let labels: Vec<f64> = judged.iter().map(|one| one.label).collect();
        let metrics = |predictions: Vec<f64>| {
            let mut moments = Moments::default();
            for (&prediction, &label) in predictions.iter().zip(&labels) {
                moments.add(prediction, label);
            }
            moments.metrics(rank::correlation(&predictions, &labels))
        };
        Self {
            model: metrics(judged.iter().map(|one| one.model).collect()),
            base: metrics(judged.iter().map(|one| one.base).collect()),
        }
    }
}

/// The evaluation as it goes on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Course {
    model: Moments,
    base: Moments,
    /// The newest samples, the oldest first from `oldest` on.
    window: Vec<Judged>,
    oldest: usize,
    window_capacity: usize,
    /// Samples that stand for all in ranks.
    ranked: Vec<Judged>,
    ranked_capacity: usize,
}

impl Course {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            model: Moments::default(),
            base: Moments::default(),
            window: Vec::new(),
            oldest: 0,
            window_capacity: options.window,
            ranked: Vec::new(),
            ranked_capacity: options.ranked,
        }
    }

    pub(super) fn add(&mut self, judged: Judged, random: &mut Random) {
        self.model.add(judged.model, judged.label);
        self.base.add(judged.base, judged.label);
        if self.window.len() < self.window_capacity {
            self.window.push(judged);
        } else {
            self.window[self.oldest] = judged;
            self.oldest = (self.oldest + 1) % self.window.len();
        }
        match random.place(self.model.count, self.ranked_capacity) {
            Some(place) if place < self.ranked.len() => self.ranked[place] = judged,
            Some(_) => self.ranked.push(judged),
            None => {}
        }
    }

    pub(super) fn evaluation(&self) -> Evaluation {
        let ranked = Pair::of(&self.ranked);
        let all = Pair {
            model: self.model.metrics(ranked.model.srocc),
            base: self.base.metrics(ranked.base.srocc),
        };
        Evaluation { all, window: Pair::of(&self.newest().collect::<Vec<_>>()) }
    }

    /// The window from its oldest sample on: sums must not depend on where the ring begins.
    fn newest(&self) -> impl Iterator<Item = Judged> {
        let (newer, older) = self.window.split_at(self.oldest);
        older.iter().chain(newer).copied()
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        for moments in [&self.model, &self.base] {
            moments.write(writer);
        }
        writer.count(self.window.len());
        self.newest().for_each(|judged| judged.write(writer));
        writer.count(self.ranked.len());
        self.ranked.iter().for_each(|judged| judged.write(writer));
    }

    /// A smaller window than the one that was written keeps the newest.
    pub(super) fn read(options: &Options, reader: &mut Reader<'_>) -> Result<Self, LearnerError> {
        let (model, base) = (Moments::read(reader)?, Moments::read(reader)?);
        let mut window = Judged::list(reader)?;
        window.drain(..window.len().saturating_sub(options.window));
        let mut ranked = Judged::list(reader)?;
        ranked.truncate(options.ranked);
        Ok(Self { model, base, window, ranked, ..Self::new(options) })
    }
}

impl Judged {
    fn write(&self, writer: &mut Writer) {
        writer.numbers(&[self.model, self.base, self.label]);
    }

    fn list(reader: &mut Reader<'_>) -> Result<Vec<Self>, LearnerError> {
        reader.list(3, |reader| {
            Ok(Self { model: reader.number()?, base: reader.number()?, label: reader.number()? })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(index: u32) -> Judged {
        let label = f64::from(index * 37 % 101);
        Judged { model: label * 0.9 + f64::from(index % 7), base: 100.0 - label, label }
    }

    fn course(options: &Options, count: u32) -> Course {
        let (mut course, mut random) = (Course::new(options), Random::new(5));
        (0..count).for_each(|index| course.add(judged(index), &mut random));
        course
    }

    #[test]
    fn a_window_forgets_what_all_remembers() {
        let options = Options { window: 50, ..Options::default() };
        let evaluation = course(&options, 500).evaluation();
        assert_eq!((evaluation.all.model.count, evaluation.window.model.count), (500, 50));
        let newest: Vec<Judged> = (450..500).map(judged).collect();
        let (found, expected) = (evaluation.window.model, Pair::of(&newest).model);
        assert!((found.rmse - expected.rmse).abs() < 1e-12);
        assert_eq!(found.srocc, expected.srocc);
        assert_eq!(evaluation.all.base.srocc, Some(-1.0));
    }

    #[test]
    fn the_rank_correlation_of_all_is_exact_while_all_fit() {
        let evaluation = course(&Options::default(), 4096).evaluation();
        let exact = Pair::of(&(0..4096).map(judged).collect::<Vec<_>>());
        let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-12;
        assert!(near(evaluation.all.model.srocc, exact.model.srocc));
        assert!(near(evaluation.all.model.plcc, exact.model.plcc));
    }

    #[test]
    fn past_that_it_is_drawn_from_all_and_not_from_the_first() {
        // The first quarter is in reverse order: who looks at it alone is far off.
        let options = Options { ranked: 1000, ..Options::default() };
        let (mut course, mut random) = (Course::new(&options), Random::new(5));
        let mut all = Vec::new();
        for index in 0..8000 {
            let mut one = judged(index);
            if index < 2000 {
                one.model = 100.0 - one.model;
            }
            all.push(one);
            course.add(one, &mut random);
        }
        let (estimate, exact) = (course.evaluation().all.model.srocc, Pair::of(&all).model.srocc);
        assert!((estimate.unwrap() - exact.unwrap()).abs() < 0.08, "{estimate:?} {exact:?}");
    }
}
