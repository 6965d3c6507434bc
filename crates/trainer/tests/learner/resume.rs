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
    let samples = strict_samples(400, 1);
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
