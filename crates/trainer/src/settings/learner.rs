use crate::learner::LearnerOptions;

/// The options of the learner that are worth changing. All others have no setting: their defaults suit every stream of
/// samples we know.
#[derive(Clone, Debug, clap::Args)]
pub struct LearnerArgs {
    /// Random seed, which decides which jobs are held out and which samples are replayed.
    #[arg(long, env = "VMAFX_TRAINER_SEED", value_name = "NUMBER", default_value_t = LearnerOptions::default().seed)]
    pub seed: u64,

    /// Decay of the exponential moving average of the weights, from 0 (off) to below 1. A higher value is smoother, a
    /// lower one adapts faster.
    #[arg(long, env = "VMAFX_TRAINER_EMA", value_name = "SHARE", default_value_t = LearnerOptions::default().ema,
          value_parser = share)]
    pub ema: f64,

    /// Standard deviation of a label, in points. A higher value makes smaller updates.
    #[arg(long, env = "VMAFX_TRAINER_LABEL_NOISE", value_name = "POINTS", default_value_t = LearnerOptions::default().label_noise,
          value_parser = points)]
    pub label_noise: f64,

    /// Size of the replay buffer, in samples.
    #[arg(long, env = "VMAFX_TRAINER_REPLAY_CAPACITY", value_name = "NUMBER",
          default_value_t = LearnerOptions::default().replay_capacity,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    pub replay_capacity: usize,

    /// How many samples of the replay buffer are learned again with each new one.
    #[arg(long, env = "VMAFX_TRAINER_REPLAY", value_name = "NUMBER", default_value_t = LearnerOptions::default().replay,
          value_parser = clap::value_parser!(u32).range(0..=100))]
    pub replay: u32,
}

impl LearnerArgs {
    pub fn options(&self) -> LearnerOptions {
        let Self { seed, ema, label_noise, replay_capacity, replay } = *self;
        LearnerOptions { seed, ema, label_noise, replay_capacity, replay, ..LearnerOptions::default() }
    }
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..1.0).contains(number));
    number.ok_or_else(|| "use a number from 0 to below 1".to_owned())
}

fn points(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0 && *number <= 100.0);
    number.ok_or_else(|| "use a number above 0 and at most 100".to_owned())
}
