//! The learner: a model that moves with each sample. Pure: no clock, no network, no randomness of its own.
//!
//! ```text
//! sample ──admit──▶ row ──predict (average)──▶ evaluation
//!                    ├── one job in eight ──▶ held out ──▶ gate
//!                    └── all others ──▶ step, replay ──▶ average ──▶ export: libvmaf's JSON
//! ```
//!
//! | promise                                                        | guarded by (in `tests/learner`)                              |
//! |----------------------------------------------------------------|---------------------------------------------------------------|
//! | step 0 is the base model                                       | `an_untaught_learner_exports_its_base_model`                   |
//! | libvmaf says of an export what the learner says                | `libvmaf_says_what_the_learner_says`                           |
//! | same seed, same samples: same bits, wherever checkpoints fall  | `a_restored_learner_goes_on_bit_for_bit`                       |
//! | a bad sample changes a counter and nothing else                | `a_refused_sample_changes_a_counter_and_nothing_else`          |
//! | nonsense is held back                                          | `a_model_taught_nonsense_is_held_back`                         |

mod average;
mod error;
pub mod evaluation;
mod example;
mod expansion;
mod export;
mod filter;
pub mod gate;
pub mod model;
mod options;
mod random;
pub mod sample;
mod state;

pub use error::LearnerError;
pub use evaluation::{Evaluation, Metrics, Pair};
pub use gate::{GateLimits, Verdict};
pub use model::{BaseModel, ModelError};
pub use options::Options;
pub(crate) use random::Random;
pub use sample::{Refusal, RefusalKind, Sample};

use self::average::Average;
use self::evaluation::{Course, Judged};
use self::example::{Example, HeldOut, Replay};
use self::expansion::{Expansion, Row};
use self::filter::{Filter, Step, dot};
use self::sample::Refusals;
use self::state::{Reader, Writer};

/// A base model and what was learned on top of it.
#[derive(Clone, Debug)]
pub struct Learner {
    options: Options,
    expansion: Expansion,
    filter: Filter,
    average: Average,
    replay: Replay,
    held_out: HeldOut,
    course: Course,
    refusals: Refusals,
    random: Random,
    samples: u64,
}

/// What was said of a sample before it was learned from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learned {
    /// The score by the model as it was.
    pub prediction: f64,
    /// The score by the base model.
    pub base: f64,
    /// Whether the sample was put aside for the gate instead of being learned from.
    pub held_out: bool,
}

impl Learner {
    /// A learner that has seen nothing: it says what the base model says.
    pub fn new(base: BaseModel, options: Options) -> Result<Self, LearnerError> {
        options.check()?;
        let expansion = Expansion::new(base)?;
        let rank = expansion.rank();
        Ok(Self {
            filter: Filter::new(rank, &options),
            average: Average::new(rank),
            replay: Replay::new(&options),
            held_out: HeldOut::new(&options),
            course: Course::new(&options),
            refusals: Refusals::default(),
            random: Random::new(options.seed),
            samples: 0,
            expansion,
            options,
        })
    }

    /// The learner that [`state`](Self::state) was called on. Seed and share of held-out jobs are those of the state:
    /// what has been held out once must not be learned from. All other options may differ.
    pub fn restore(base: BaseModel, options: Options, state: &[u8]) -> Result<Self, LearnerError> {
        options.check()?;
        let mut reader = Reader::new(state)?;
        let found = reader.text()?;
        if found != base.digest() {
            return Err(LearnerError::OtherBase { found, expected: base.digest().to_owned() });
        }
        let (seed, one_in) = (reader.unsigned()?, reader.unsigned()?);
        let held_out_one_in =
            u32::try_from(one_in).map_err(|_| state::damaged("its share of held-out jobs is none"))?;
        let options = Options { seed, held_out_one_in, ..options };
        let (random, samples) = (Random::new(reader.unsigned()?), reader.tally()?);
        let mut counts = [0; RefusalKind::ALL.len()];
        for count in &mut counts {
            *count = reader.tally()?;
        }
        let expansion = Expansion::new(base)?;
        let filter = Filter::read(expansion.rank(), &mut reader)?;
        let average = Average::read(expansion.rank(), &mut reader)?;
        let replay = Replay::read(&options, &expansion, &mut reader)?;
        let held_out = HeldOut::read(&options, &expansion, &mut reader)?;
        let course = Course::read(&options, &mut reader)?;
        reader.finish()?;
        let refusals = Refusals::from_counts(counts);
        Ok(Self { options, expansion, filter, average, replay, held_out, course, refusals, random, samples })
    }

    /// Everything that the future depends on. A learner restored from it goes on bit for bit as this one does.
    pub fn state(&self) -> Vec<u8> {
        let mut writer = Writer::new();
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
        self.course.write(&mut writer);
        writer.finish()
    }

    /// Predicts, then learns, or puts the sample aside. Both count in the evaluation.
    pub fn learn(&mut self, sample: &Sample) -> Result<Learned, Refusal> {
        let learned = sample::admit(self.expansion.base().features(), sample)
            .and_then(|features| self.take(&sample.job_id, features, sample.ground_truth));
        self.counted(learned)
    }

    /// The same for features that are in the order of [`BaseModel::features`].
    pub fn learn_row(&mut self, job: &str, features: &[f64], ground_truth: f64) -> Result<Learned, Refusal> {
        let learned = sample::admit_row(self.expansion.base().features(), features, ground_truth)
            .and_then(|()| self.take(job, features.to_owned(), ground_truth));
        self.counted(learned)
    }

    fn counted(&mut self, learned: Result<Learned, Refusal>) -> Result<Learned, Refusal> {
        if let Err(refusal) = &learned {
            self.refusals.count(refusal.kind());
        }
        learned
    }

    fn take(&mut self, job: &str, features: Vec<f64>, label: f64) -> Result<Learned, Refusal> {
        let row = self.expansion.row(&features);
        let (prediction, base) = (self.told(&row), self.expansion.base().output().score(row.points));
        if !(prediction.is_finite() && base.is_finite()) {
            return Err(Refusal::Undone);
        }
        let job = random::hash(self.options.seed, job);
        let one_in = u64::from(self.options.held_out_one_in);
        let held_out = one_in > 0 && job.is_multiple_of(one_in);
        let example = Example { job, features, label, row };
        if held_out {
            self.held_out.add(example, &mut self.random);
        } else {
            self.train(example)?;
        }
        self.samples += 1;
        self.course.add(Judged { model: prediction, base, label }, &mut self.random);
        Ok(Learned { prediction, base, held_out })
    }

    /// A step by the new sample, one by each that is replayed, and the average.
    fn train(&mut self, example: Example) -> Result<(), Refusal> {
        self.step(&example, 1.0, self.options.forgetting)?;
        for _ in 0..self.options.replay {
            if let Some(old) = self.replay.draw(&mut self.random).cloned() {
                // A replayed step that would lead out of the numbers is left out; the new sample has been learned.
                let _ = self.step(&old, self.options.replay_caution, 0.0);
            }
        }
        self.replay.push(example);
        self.average.add(self.filter.weights(), self.options.ema);
        Ok(())
    }

    fn step(&mut self, example: &Example, caution: f64, forgetting: f64) -> Result<(), Refusal> {
        let output = self.expansion.base().output();
        let row = &example.row;
        let told = output.unclipped(row.points + dot(&row.along, self.filter.weights()));
        if output.satisfies(told.score, example.label) {
            return Ok(());
        }
        let error = told.score - example.label;
        let step = Step { along: &row.along, slope: told.slope, error, caution, forgetting };
        self.filter.step(&step, &self.options)
    }

    fn told(&self, row: &Row) -> f64 {
        self.expansion.base().output().score(row.points + dot(&row.along, self.average.weights()))
    }

    /// The score of features in the order of [`BaseModel::features`], by the averaged weights, as the export has them.
    /// Not a number where there are not as many as the model uses.
    pub fn predict(&self, features: &[f64]) -> f64 {
        if features.len() != self.expansion.base().features().len() {
            return f64::NAN;
        }
        self.told(&self.expansion.row(features))
    }

    /// The model as libvmaf's JSON.
    pub fn export(&self) -> Vec<u8> {
        export::json(&self.expansion, self.average.weights())
    }

    /// The base model.
    pub fn base(&self) -> &BaseModel {
        self.expansion.base()
    }

    /// Samples that were accepted, held-out ones included.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Samples that the replay buffer holds.
    pub fn replayable(&self) -> usize {
        self.replay.len()
    }

    /// How many samples were refused, by kind; every kind is there.
    pub fn refused(&self) -> impl Iterator<Item = (RefusalKind, u64)> {
        self.refusals.iter()
    }

    /// How good the model has been, sample by sample, before it learned from each.
    pub fn evaluation(&self) -> Evaluation {
        self.course.evaluation()
    }

    /// Whether the model may be called stable.
    pub fn gate(&self, limits: &GateLimits) -> Verdict {
        let output = self.expansion.base().output();
        let judge = |example: &Example| Judged {
            model: self.told(&example.row),
            base: output.score(example.row.points),
            label: example.label,
        };
        let judged: Vec<Judged> = self.held_out.examples().iter().map(judge).collect();
        gate::judge(limits, Pair::of(&judged))
    }
}
