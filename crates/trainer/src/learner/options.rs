//! Options of a learner.
//!
//! All of them are stated in terms of what is known before any data: how far the mean opinion of one panel is from the
//! truth, how far viewers may differ from the model. None was fitted to a set of labels.

use super::LearnerError;

/// The default is what the trainer runs with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearnerOptions {
    /// Seed of the generator that decides which jobs are held out and which samples are replayed. A restored learner
    /// continues with the seed of its state.
    pub seed: u64,
    /// Decay of the exponential moving average of the weights, from 0 (no averaging) to below 1. The filter already
    /// averages over samples, so the moving average need only smooth the last few updates; a longer one lags behind
    /// viewers or clips that change. The n-th update uses a decay of at most `n / (9 + n)`, so that the base model's
    /// weights fade soon.
    pub ema: f64,
    /// Standard deviation of one label, in points.
    pub label_noise: f64,
    /// Prior standard deviation of the difference between viewers and the base model, in points.
    pub prior: f64,
    /// The share of the prior covariance that returns at each update, from 0 to below 1. It limits the influence of old
    /// samples, so that the learner can follow viewers whose opinions change.
    pub forgetting: f64,
    /// A label further from the prediction than this many standard deviations is an outlier. Its assumed noise grows so fast
    /// with its distance that a label far off moves the model less than a surprising one.
    pub outlier_threshold: f64,
    /// Size of the replay buffer, in samples.
    pub replay_capacity: usize,
    /// How many samples of the replay buffer are learned again with each new sample.
    pub replay: u32,
    /// Factor on the label variance of a replayed sample.
    pub replay_noise_factor: f64,
    /// One job in this many is held out, for the promotion gate only. 0 holds out none.
    pub held_out_one_in: u32,
    /// Size of the held-out set. Beyond it, the set is a uniform random sample of all held-out samples.
    pub held_out_capacity: usize,
    /// Number of most recent samples in the windowed evaluation, and of those by which the shares of labellers are
    /// counted.
    pub window: usize,
    /// Number of samples from which the rank correlation over all samples is computed: exact up to this many, and an
    /// estimate from a uniform random sample beyond.
    pub rank_capacity: usize,
}

impl Default for LearnerOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            ema: 0.9,
            label_noise: 12.0,
            prior: 30.0,
            forgetting: 5e-4,
            outlier_threshold: 2.0,
            replay_capacity: 10_000,
            replay: 1,
            replay_noise_factor: 4.0,
            held_out_one_in: 8,
            held_out_capacity: 1000,
            window: 1000,
            rank_capacity: 4096,
        }
    }
}

/// Maximum length of any list that a learner keeps.
pub(super) const MAX_ROWS: usize = 1_000_000;

impl LearnerOptions {
    pub(super) fn check(&self) -> Result<(), LearnerError> {
        let share = |value: f64| (0.0..1.0).contains(&value);
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let rows = |count: usize| (1..=MAX_ROWS).contains(&count);
        let rules = [
            ("ema", share(self.ema), "from 0 to below 1"),
            ("label_noise", positive(self.label_noise), "above 0"),
            ("prior", positive(self.prior), "above 0"),
            ("forgetting", share(self.forgetting), "from 0 to below 1"),
            ("outlier_threshold", positive(self.outlier_threshold), "above 0"),
            ("replay_capacity", rows(self.replay_capacity), "from 1 to a million"),
            ("replay", self.replay <= 100, "at most 100"),
            (
                "replay_noise_factor",
                self.replay_noise_factor.is_finite() && self.replay_noise_factor >= 1.0,
                "1 or more",
            ),
            ("held_out_capacity", rows(self.held_out_capacity), "from 1 to a million"),
            ("window", rows(self.window), "from 1 to a million"),
            ("rank_capacity", rows(self.rank_capacity), "from 1 to a million"),
        ];
        match rules.into_iter().find(|(_, holds, _)| !holds) {
            Some((option, _, rule)) => Err(LearnerError::Option { option, rule }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::ema_of_one(LearnerOptions { ema: 1.0, ..LearnerOptions::default() }, "ema")]
    #[case::ema_that_is_not_a_number(LearnerOptions { ema: f64::NAN, ..LearnerOptions::default() }, "ema")]
    #[case::labels_without_noise(LearnerOptions { label_noise: 0.0, ..LearnerOptions::default() }, "label_noise")]
    #[case::infinite_prior(LearnerOptions { prior: f64::INFINITY, ..LearnerOptions::default() }, "prior")]
    #[case::replay_of_everything(LearnerOptions { replay: 101, ..LearnerOptions::default() }, "replay")]
    #[case::no_window(LearnerOptions { window: 0, ..LearnerOptions::default() }, "window")]
    #[case::an_unbounded_buffer(LearnerOptions { replay_capacity: usize::MAX, ..LearnerOptions::default() }, "replay_capacity")]
    fn an_invalid_option_is_refused_by_name(#[case] options: LearnerOptions, #[case] wrong: &str) {
        let refused = options.check();
        assert!(
            matches!(refused, Err(LearnerError::Option { option, .. }) if option == wrong),
            "{refused:?}"
        );
        assert!(LearnerOptions::default().check().is_ok());
    }
}
