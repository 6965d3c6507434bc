//! A learner that is saved and restored at any moment continues as if it had not been.

use rstest::rstest;
use vmafx_trainer::learner::{GateLimits, Learner, LearnerError, LearnerOptions, Sample};

use crate::samples::{CLASSIC, base, learner, strict_samples};

/// Small buffers, so that all of them wrap around.
fn small() -> LearnerOptions {
    LearnerOptions {
        seed: 11,
        replay_capacity: 60,
        held_out_capacity: 12,
        window: 40,
        rank_capacity: 50,
        ..LearnerOptions::default()
    }
}

fn train(learner: &mut Learner, samples: &[Sample]) {
    for sample in samples {
        learner.learn(sample).unwrap();
    }
}

#[rstest]
#[case::at_once(&[0])]
#[case::before_anything_is_full(&[7])]
#[case::after_ring_buffers_wrapped_around(&[333])]
#[case::often(&[1, 2, 50, 61, 100, 250, 399])]
fn a_restored_learner_continues_bit_for_bit(#[case] stops: &[usize]) {
    let mut samples = strict_samples(400, 1);
    for (number, sample) in samples.iter_mut().enumerate() {
        // One of several labellers gave most of the labels.
        sample.labelled_by = if number % 5 < 3 { "a".to_owned() } else { format!("b{}", number % 7) };
    }
    let mut uninterrupted = learner(small());
    train(&mut uninterrupted, &samples);

    let mut interrupted = learner(small());
    for (index, sample) in samples.iter().enumerate() {
        if stops.contains(&index) {
            let state = interrupted.state();
            interrupted = Learner::restore(base(CLASSIC), small(), &state).unwrap();
            assert_eq!(interrupted.state(), state, "reading and writing changed the state");
        }
        interrupted.learn(sample).unwrap();
    }
    assert_eq!(interrupted.export(), uninterrupted.export());
    assert_eq!(interrupted.evaluation(), uninterrupted.evaluation());
    assert_eq!(interrupted.gate(&GateLimits::default()), uninterrupted.gate(&GateLimits::default()));
    assert_eq!(interrupted.state(), uninterrupted.state());
}

#[test]
fn the_same_samples_make_the_same_learner_and_another_seed_makes_another() {
    let samples = strict_samples(200, 2);
    let trained = |seed| {
        let mut learner = learner(LearnerOptions { seed, ..small() });
        train(&mut learner, &samples);
        learner.state()
    };
    assert_eq!(trained(3), trained(3));
    assert_ne!(trained(3), trained(4));
}

#[test]
fn refusals_and_samples_are_counted_across_a_restart() {
    let mut learner = learner(small());
    let mut samples = strict_samples(20, 3);
    samples[5].ground_truth = 500.0;
    samples[6].features.clear();
    for sample in &samples {
        let _ = learner.learn(sample);
    }
    let restored = Learner::restore(base(CLASSIC), small(), &learner.state()).unwrap();
    assert_eq!(restored.samples(), 18);
    assert!(restored.refused().eq(learner.refused()));
    assert_eq!(restored.refused().map(|(_, count)| count).sum::<u64>(), 2);
}

#[test]
fn a_held_out_job_stays_held_out_whatever_the_options_are() {
    let samples = strict_samples(200, 4);
    let mut first = learner(small());
    let held_out: Vec<bool> = samples.iter().map(|sample| first.learn(sample).unwrap().held_out).collect();
    assert!(held_out.iter().filter(|held| **held).count() > 10);
    let other = LearnerOptions { seed: 99, held_out_one_in: 3, ..small() };
    let mut second = Learner::restore(base(CLASSIC), other, &first.state()).unwrap();
    let again: Vec<bool> = samples.iter().map(|sample| second.learn(sample).unwrap().held_out).collect();
    assert_eq!(held_out, again);
}

#[test]
fn a_held_out_sample_is_never_learned_from() {
    let mut learner = learner(small());
    let mut held_out = 0;
    for sample in strict_samples(150, 8) {
        let (before, kept) = (learner.export(), learner.replayable());
        if learner.learn(&sample).unwrap().held_out {
            held_out += 1;
            assert_eq!((learner.export(), learner.replayable()), (before, kept));
        } else {
            assert_ne!(learner.export(), before);
        }
    }
    assert!(held_out > 5 && learner.samples() == 150, "{held_out}");
    assert_eq!(learner.evaluation().all.model.count, 150, "held-out samples count in the evaluation");
}

#[test]
fn smaller_buffers_keep_the_most_recent_samples() {
    let mut large = learner(LearnerOptions { seed: 1, ..LearnerOptions::default() });
    train(&mut large, &strict_samples(300, 5));
    let restored = Learner::restore(base(CLASSIC), small(), &large.state()).unwrap();
    assert_eq!(restored.replayable(), 60);
    assert_eq!(restored.evaluation().window.model.count, 40);
    assert_eq!(restored.evaluation().all.model.rmse.to_bits(), large.evaluation().all.model.rmse.to_bits());
}

#[test]
fn a_state_of_the_first_version_is_restored() {
    let mut learner = learner(small());
    let samples = strict_samples(400, 9);
    train(&mut learner, &samples[..300]);
    let mut restored = Learner::restore(base(CLASSIC), small(), &first_version(&learner.state())).unwrap();
    assert_eq!((restored.samples(), restored.replayable()), (300, 60));
    assert_eq!((restored.export(), restored.evaluation()), (learner.export(), learner.evaluation()));
    assert_eq!(restored.gate(&GateLimits::default()), learner.gate(&GateLimits::default()));
    train(&mut learner, &samples[300..]);
    train(&mut restored, &samples[300..]);
    assert_eq!(restored.export(), learner.export());
    // What it saves is the current version.
    let again = Learner::restore(base(CLASSIC), small(), &restored.state()).unwrap();
    assert_eq!(again.export(), learner.export());
}

/// The state of a learner with a single labeller as the first version of the format had it: without labellers.
fn first_version(state: &[u8]) -> Vec<u8> {
    let mut copy = StateCopy { rest: &state[12..state.len() - 8], copied: state[..8].to_vec() };
    copy.copied.extend_from_slice(&1_u32.to_le_bytes());
    let digest_bytes = copy.keep();
    copy.keep_bytes(digest_bytes);
    // Seed, share of held-out jobs, random numbers, samples and six kinds of refusals.
    copy.keep_bytes(10 * 8);
    let rank = copy.keep();
    // Weights and covariance, then the steps and weights of the average.
    copy.keep_bytes((rank + rank * rank + 1 + rank) * 8);
    copy.keep_examples();
    copy.keep();
    copy.keep_examples();
    let recent = copy.skip();
    for _ in 0..2 * recent {
        copy.skip();
    }
    copy.keep_bytes(copy.rest.len() as u64);
    let checksum = copy.copied.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    [copy.copied, checksum.to_le_bytes().to_vec()].concat()
}

struct StateCopy<'a> {
    rest: &'a [u8],
    copied: Vec<u8>,
}

impl StateCopy<'_> {
    fn skip(&mut self) -> u64 {
        let (number, rest) = self.rest.split_first_chunk().unwrap();
        self.rest = rest;
        u64::from_le_bytes(*number)
    }

    fn keep(&mut self) -> u64 {
        let number = self.skip();
        self.copied.extend_from_slice(&number.to_le_bytes());
        number
    }

    fn keep_bytes(&mut self, count: u64) {
        let (bytes, rest) = self.rest.split_at(usize::try_from(count).unwrap());
        self.copied.extend_from_slice(bytes);
        self.rest = rest;
    }

    /// Job, labeller, six features and the label of each.
    fn keep_examples(&mut self) {
        for _ in 0..self.keep() {
            self.keep();
            self.skip();
            self.keep_bytes(7 * 8);
        }
    }
}

#[test]
fn a_state_of_another_base_model_is_refused() {
    let state = learner(small()).state();
    let refused = Learner::restore(base("vmaf_4k_v0.6.1"), small(), &state);
    assert!(matches!(refused, Err(LearnerError::OtherBase { .. })), "{refused:?}");
}

#[test]
fn a_truncated_or_changed_state_is_refused_without_a_panic() {
    let mut learner = learner(small());
    train(&mut learner, &strict_samples(100, 6));
    let state = learner.state();
    let restore = |state: &[u8]| Learner::restore(base(CLASSIC), small(), state);
    for length in (0..state.len()).step_by(997).chain([state.len() - 1]) {
        assert!(restore(&state[..length]).is_err(), "truncated to {length}");
    }
    for index in (0..state.len()).step_by(1009) {
        let mut changed = state.clone();
        changed[index] ^= 0x41;
        assert!(restore(&changed).is_err(), "changed at {index}");
    }
    assert!(restore(&[]).is_err());
    assert!(restore(&vec![0xff; 1 << 16]).is_err());
}

#[test]
fn a_state_stays_small() {
    let mut learner = learner(LearnerOptions::default());
    train(&mut learner, &strict_samples(500, 7));
    // A sample takes about ten numbers, in the replay buffer and in the evaluation.
    assert!(learner.state().len() < 500 * 14 * 8 + 20_000, "{}", learner.state().len());
}
