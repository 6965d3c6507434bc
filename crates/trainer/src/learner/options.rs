//! The knobs of a learner.
//!
//! All of them are in terms of what is known before any data: how far one panel of viewers is from the truth, how far
//! viewers may be from the model. None was fitted to a set of labels.

use super::LearnerError;

/// The knobs of a learner. The default is what the trainer runs with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Where chance begins: which jobs are held out, what is replayed. A restored learner goes on with the one it has.
    pub seed: u64,
    /// How much of the average stays at each step, from 0 (off: the model is the last step's) to below 1. The steps have
    /// a memory of their own, so the average need only take the jitter out of the last few; a longer one trails behind
    /// viewers or clips that change. At the start less stays, so that the base model does not linger: the n-th step keeps at most `n / (9 + n)`.
    pub ema: f64,
    /// How many points one label is off by, as a standard deviation.
    pub label_noise: f64,
    /// How many points viewers may differ from the base model by, as a standard deviation.
    pub prior: f64,
    /// How fast old samples lose their say, from 0 (never) to below 1: at each step this share of what the learner
    /// does not know of a direction comes back. Keeps it able to follow viewers who change their minds.
    pub forgetting: f64,
    /// A label further from what was expected than this many standard deviations counts as the less sure the further
    /// it is: a wrong label moves the model no more than a surprising one.
    pub surprise: f64,
    /// How many samples are kept for replay.
    pub replay_capacity: usize,
    /// How many kept samples are replayed with each new one.
    pub replay: u32,
    /// How many times less sure a replayed label is than a new one.
    pub replay_caution: f64,
    /// One job in how many is held out, for the gate alone. 0: none.
    pub held_out_one_in: u32,
    /// How many held-out samples are kept, each as likely as any other.
    pub held_out_capacity: usize,
    /// How many of the newest samples the window of the evaluation has.
    pub window: usize,
    /// How many samples stand for all in the rank correlation of the whole evaluation: exact up to here, and from here
    /// on the rank correlation of that many, drawn without preference.
    pub ranked: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            ema: 0.9,
            label_noise: 12.0,
            prior: 30.0,
            forgetting: 5e-4,
            surprise: 2.0,
            replay_capacity: 10_000,
            replay: 1,
            replay_caution: 4.0,
            held_out_one_in: 8,
            held_out_capacity: 1000,
            window: 1000,
            ranked: 4096,
        }
    }
}

/// Most rows of any list that a learner keeps.
pub(super) const MOST_ROWS: usize = 1_000_000;

impl Options {
    /// Refuses values that cannot be meant.
    pub(super) fn check(&self) -> Result<(), LearnerError> {
        let share = |value: f64| (0.0..1.0).contains(&value);
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let rows = |count: usize| (1..=MOST_ROWS).contains(&count);
        let rules = [
            ("ema", share(self.ema), "from 0 to below 1"),
            ("label_noise", positive(self.label_noise), "above 0"),
            ("prior", positive(self.prior), "above 0"),
            ("forgetting", share(self.forgetting), "from 0 to below 1"),
            ("surprise", positive(self.surprise), "above 0"),
            ("replay_capacity", rows(self.replay_capacity), "from 1 to a million"),
            ("replay", self.replay <= 100, "at most 100"),
            ("replay_caution", self.replay_caution.is_finite() && self.replay_caution >= 1.0, "1 or more"),
            ("held_out_capacity", rows(self.held_out_capacity), "from 1 to a million"),
            ("window", rows(self.window), "from 1 to a million"),
            ("ranked", rows(self.ranked), "from 1 to a million"),
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
    #[case::ema_of_one(Options { ema: 1.0, ..Options::default() }, "ema")]
    #[case::ema_that_is_no_number(Options { ema: f64::NAN, ..Options::default() }, "ema")]
    #[case::labels_without_noise(Options { label_noise: 0.0, ..Options::default() }, "label_noise")]
    #[case::infinite_prior(Options { prior: f64::INFINITY, ..Options::default() }, "prior")]
    #[case::replay_of_everything(Options { replay: 101, ..Options::default() }, "replay")]
    #[case::no_window(Options { window: 0, ..Options::default() }, "window")]
    #[case::a_buffer_without_end(Options { replay_capacity: usize::MAX, ..Options::default() }, "replay_capacity")]
    fn what_cannot_be_meant_is_refused_by_name(#[case] options: Options, #[case] wrong: &str) {
        let refused = options.check();
        assert!(
            matches!(refused, Err(LearnerError::Option { option, .. }) if option == wrong),
            "{refused:?}"
        );
        assert!(Options::default().check().is_ok());
    }
}
