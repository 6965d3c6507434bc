//! The knobs of the learner that are worth turning. Their defaults are the learner's own.

use crate::learner::Options;

/// How it is learned. What is not here has no setting: the learner's own choice is right for every stream we know.
#[derive(Clone, Debug, clap::Args)]
pub struct LearnerArgs {
    /// Where chance begins: which jobs are held out, what is replayed.
    #[arg(long, env = "VMAFX_TRAINER_SEED", value_name = "NUMBER", default_value_t = Options::default().seed)]
    pub seed: u64,

    /// How much of the average stays at each step, from 0 (off) to below 1. More is steadier, less follows faster.
    #[arg(long, env = "VMAFX_TRAINER_EMA", value_name = "SHARE", default_value_t = Options::default().ema,
          value_parser = share)]
    pub ema: f64,

    /// How many points a label is off by, as a standard deviation: more makes smaller steps.
    #[arg(long, env = "VMAFX_TRAINER_LABEL_NOISE", value_name = "POINTS", default_value_t = Options::default().label_noise,
          value_parser = points)]
    pub label_noise: f64,

    /// How many samples are kept for replay.
    #[arg(long, env = "VMAFX_TRAINER_REPLAY_CAPACITY", value_name = "NUMBER",
          default_value_t = Options::default().replay_capacity,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    pub replay_capacity: usize,

    /// How many kept samples are replayed with each new one.
    #[arg(long, env = "VMAFX_TRAINER_REPLAY", value_name = "NUMBER", default_value_t = Options::default().replay,
          value_parser = clap::value_parser!(u32).range(0..=100))]
    pub replay: u32,
}

impl LearnerArgs {
    /// As the learner takes them.
    pub fn options(&self) -> Options {
        let Self { seed, ema, label_noise, replay_capacity, replay } = *self;
        Options { seed, ema, label_noise, replay_capacity, replay, ..Options::default() }
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "is no number".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let number = number(text)?;
    if (0.0..1.0).contains(&number) { Ok(number) } else { Err("use 0 to below 1".to_owned()) }
}

fn points(text: &str) -> Result<f64, String> {
    let number = number(text)?;
    if number > 0.0 && number <= 100.0 { Ok(number) } else { Err("use more than 0, to 100".to_owned()) }
}
