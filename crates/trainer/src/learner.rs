//! The learner: a model that is updated by each sample. Pure: no clock, no network, no external randomness.
//!
//! ```text
//! sample ──validate──▶ row ──predict (averaged weights)──▶ evaluation
//!                       ├── one job in eight ──▶ held-out set ──▶ promotion gate
//!                       └── all others ──▶ filter update, replay ──▶ average ──▶ export: libvmaf's JSON
//! ```
//!
//! | guarantee                                                      | guarded by (in `tests/learner`)                       |
//! |----------------------------------------------------------------|-------------------------------------------------------|
//! | without samples, the export is the base model                  | `an_untrained_learner_exports_its_base_model`         |
//! | libvmaf scores an export as the learner does                   | `libvmaf_and_the_learner_predict_the_same_scores`     |
//! | equal seeds and samples give equal bits, with any checkpoints  | `a_restored_learner_continues_bit_for_bit`            |
//! | an invalid sample changes a counter and nothing else           | `a_refused_sample_changes_a_counter_and_nothing_else` |
//! | a model trained on false labels does not pass the gate         | `a_model_trained_on_false_labels_fails_the_gate`      |
//! | a third of wrong labels promotes no worse model                | `a_third_of_wrong_labels_moves_no_worse_model_to_stable` |
//! | one labeller counts for a third of the recent samples at most  | `a_labeller_with_most_labels_moves_the_model_less_if_it_is_known` |

mod average;
mod error;
pub mod evaluation;
mod example;
mod expansion;
mod export;
mod filter;
pub mod gate;
mod labellers;
pub mod model;
mod options;
mod random;
pub mod sample;
mod state;

pub use error::LearnerError;
pub use evaluation::{Evaluation, ModelComparison, QualityMetrics};
pub use gate::{GateLimits, GateOutcome, GateVerdict};
pub use labellers::LabellerSummary;
pub use model::{BaseModel, ModelError};
pub use options::LearnerOptions;
pub(crate) use random::SplitMix64;
pub use sample::{RefusalReason, Sample, SampleRefusal};

use self::average::WeightAverage;
use self::evaluation::{RunningEvaluation, SamplePredictions};
use self::example::{Example, HeldOutSet, ReplayBuffer, labeller_hash};
use self::expansion::{DesignRow, KernelExpansion};
use self::filter::{KalmanFilter, Observation, dot};
use self::gate::HeldOutSample;
use self::labellers::RecentLabellers;
use self::sample::RefusalCounts;
use self::state::{StateReader, StateWriter};

/// A base model and the correction learned on top of it.
#[derive(Clone, Debug)]
pub struct Learner {
    options: LearnerOptions,
    expansion: KernelExpansion,
    filter: KalmanFilter,
    average: WeightAverage,
    replay: ReplayBuffer,
    held_out: HeldOutSet,
    labellers: RecentLabellers,
    evaluation: RunningEvaluation,
    refusals: RefusalCounts,
    random: SplitMix64,
    samples: u64,
}

/// What became of an accepted sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearnOutcome {
    /// The model's prediction before it learned from the sample.
    pub prediction: f64,
    /// The base model's prediction.
    pub base: f64,
    /// Whether the sample went to the held-out set instead of being learned from.
    pub held_out: bool,
}

impl Learner {
    /// An untrained learner predicts what the base model predicts.
    pub fn new(base: BaseModel, options: LearnerOptions) -> Result<Self, LearnerError> {
        options.check()?;
        let expansion = KernelExpansion::new(base)?;
        let rank = expansion.rank();
        Ok(Self {
            filter: KalmanFilter::new(rank, &options),
            average: WeightAverage::new(rank),
            replay: ReplayBuffer::new(&options),
            held_out: HeldOutSet::new(&options),
            labellers: RecentLabellers::new(&options),
            evaluation: RunningEvaluation::new(&options),
            refusals: RefusalCounts::default(),
            random: SplitMix64::new(options.seed),
            samples: 0,
            expansion,
            options,
        })
    }

    /// The learner that [`state`](Self::state) was called on. Seed and share of held-out jobs come from the state,
    /// because a job that was held out once must never be learned from. All other options may differ.
    pub fn restore(base: BaseModel, options: LearnerOptions, state: &[u8]) -> Result<Self, LearnerError> {
        options.check()?;
        let mut reader = StateReader::new(state)?;
        let found = reader.text()?;
        if found != base.digest() {
            return Err(LearnerError::OtherBase { found, expected: base.digest().to_owned() });
        }
        let (seed, one_in) = (reader.unsigned()?, reader.unsigned()?);
        let held_out_one_in =
            u32::try_from(one_in).map_err(|_| state::damaged("its share of held-out jobs is too large"))?;
        let options = LearnerOptions { seed, held_out_one_in, ..options };
        let (random, samples) = (SplitMix64::new(reader.unsigned()?), reader.counter()?);
        let mut refusals = RefusalCounts::default();
        for count in &mut refusals.0 {
            *count = reader.counter()?;
        }
        let expansion = KernelExpansion::new(base)?;
        let filter = KalmanFilter::read(expansion.rank(), &mut reader)?;
        let average = WeightAverage::read(expansion.rank(), &mut reader)?;
        let replay = ReplayBuffer::read(&options, &expansion, &mut reader)?;
        let held_out = HeldOutSet::read(&options, &expansion, &mut reader)?;
        let labellers = RecentLabellers::read(&options, &mut reader)?;
        let evaluation = RunningEvaluation::read(&options, &mut reader)?;
        reader.finish()?;
        Ok(Self {
            options,
            expansion,
            filter,
            average,
            replay,
            held_out,
            labellers,
            evaluation,
            refusals,
            random,
            samples,
        })
    }

    /// The complete state. A learner restored from it continues bit for bit as this one does.
    pub fn state(&self) -> Vec<u8> {
        let mut writer = StateWriter::new();
        writer.text(self.expansion.base().digest());
        writer.unsigned(self.options.seed);
        writer.unsigned(self.options.held_out_one_in.into());
        writer.unsigned(self.random.state());
        writer.unsigned(self.samples);
        self.refusals.iter().for_each(|(_, count)| writer.unsigned(count));
        self.filter.write(&mut writer);
        self.average.write(&mut writer);
        self.replay.write(&mut writer);
        self.held_out.write(&mut writer);
        self.labellers.write(&mut writer);
        self.evaluation.write(&mut writer);
        writer.finish()
    }

    /// Predicts the score, then learns from the sample or adds it to the held-out set. The prediction counts in the
    /// evaluation either way.
    pub fn learn(&mut self, sample: &Sample) -> Result<LearnOutcome, SampleRefusal> {
        let outcome = sample::validate(self.expansion.base().features(), sample).and_then(|features| {
            self.accept(&sample.job_id, features, sample.ground_truth, &sample.labelled_by)
        });
        self.count_refusal(outcome)
    }

    /// The same for features in the order of [`BaseModel::features`], with a label of an unknown labeller.
    pub fn learn_row(
        &mut self,
        job: &str,
        features: &[f64],
        ground_truth: f64,
    ) -> Result<LearnOutcome, SampleRefusal> {
        let outcome = sample::validate_row(self.expansion.base().features(), features, ground_truth)
            .and_then(|()| self.accept(job, features.to_owned(), ground_truth, ""));
        self.count_refusal(outcome)
    }

    fn count_refusal(
        &mut self,
        outcome: Result<LearnOutcome, SampleRefusal>,
    ) -> Result<LearnOutcome, SampleRefusal> {
        if let Err(refusal) = &outcome {
            self.refusals.count(refusal.reason());
        }
        outcome
    }

    fn accept(
        &mut self,
        job: &str,
        features: Vec<f64>,
        label: f64,
        labelled_by: &str,
    ) -> Result<LearnOutcome, SampleRefusal> {
        let row = self.expansion.row(&features);
        let prediction = self.predict_row(&row);
        let base = self.expansion.base().output().score(row.base_points);
        if !(prediction.is_finite() && base.is_finite()) {
            return Err(SampleRefusal::Diverged);
        }
        let job = random::hash(self.options.seed, job);
        let one_in = u64::from(self.options.held_out_one_in);
        let held_out = one_in > 0 && job.is_multiple_of(one_in);
        let labeller = labeller_hash(&self.options, labelled_by);
        let example = Example { job, labeller, features, label, row };
        if held_out {
            if self.labellers.holds_out(labeller, &mut self.random) {
                self.held_out.add(example, &mut self.random);
            }
        } else {
            self.train(example)?;
        }
        self.labellers.add(labeller, held_out);
        self.samples += 1;
        self.evaluation.add(SamplePredictions { model: prediction, base, label }, &mut self.random);
        Ok(LearnOutcome { prediction, base, held_out })
    }

    /// Updates the filter with the new sample and with replayed ones, then the average.
    fn train(&mut self, example: Example) -> Result<(), SampleRefusal> {
        self.update_filter(&example, 1.0, self.options.forgetting)?;
        for _ in 0..self.options.replay {
            if let Some(old) = self.replay.draw(&mut self.random).cloned() {
                // A replayed sample that would diverge is skipped: the new sample has already been learned.
                let _ = self.update_filter(&old, self.options.replay_noise_factor, 0.0);
            }
        }
        self.replay.push(example);
        self.average.add(self.filter.weights(), self.options.ema);
        Ok(())
    }

    fn update_filter(
        &mut self,
        example: &Example,
        noise_factor: f64,
        forgetting: f64,
    ) -> Result<(), SampleRefusal> {
        let output = self.expansion.base().output();
        let DesignRow { base_points, coordinates } = &example.row;
        let predicted = output.unclipped(base_points + dot(coordinates, self.filter.weights()));
        if output.satisfies(predicted.score, example.label) {
            return Ok(());
        }
        let error = predicted.score - example.label;
        let noise_factor = noise_factor * self.labellers.noise_factor(example.labeller);
        let observation =
            Observation { coordinates, slope: predicted.slope, error, noise_factor, forgetting };
        self.filter.update(&observation, &self.options)
    }

    fn predict_row(&self, row: &DesignRow) -> f64 {
        let correction = dot(&row.coordinates, self.average.weights());
        self.expansion.base().output().score(row.base_points + correction)
    }

    /// The score of features in the order of [`BaseModel::features`], by the averaged weights, as the export computes
    /// it. NaN if the number of features is not the model's.
    pub fn predict(&self, features: &[f64]) -> f64 {
        if features.len() != self.expansion.base().features().len() {
            return f64::NAN;
        }
        self.predict_row(&self.expansion.row(features))
    }

    /// The model as libvmaf's JSON.
    pub fn export(&self) -> Vec<u8> {
        export::json(&self.expansion, self.average.weights())
    }

    pub fn base(&self) -> &BaseModel {
        self.expansion.base()
    }

    /// Number of accepted samples, held-out ones included.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Number of samples in the replay buffer.
    pub fn replayable(&self) -> usize {
        self.replay.len()
    }

    /// Number of refused samples by reason; every reason is present.
    pub fn refused(&self) -> impl Iterator<Item = (RefusalReason, u64)> {
        self.refusals.iter()
    }

    /// Who gave the most recent samples.
    pub fn labellers(&self) -> LabellerSummary {
        self.labellers.summary()
    }

    pub fn evaluation(&self) -> Evaluation {
        self.evaluation.evaluation()
    }

    /// Compares the model with the base model on the held-out set.
    pub fn gate(&self, limits: &GateLimits) -> GateVerdict {
        let output = self.expansion.base().output();
        let weights = self.held_out.weights();
        let predict = |example: &Example| HeldOutSample {
            predictions: SamplePredictions {
                model: self.predict_row(&example.row),
                base: output.score(example.row.base_points),
                label: example.label,
            },
            labeller: example.labeller,
            weight: weights.get(&example.labeller).copied().unwrap_or_default(),
        };
        let held_out: Vec<HeldOutSample> = self.held_out.examples().iter().map(predict).collect();
        gate::evaluate(limits, &held_out)
    }
}
