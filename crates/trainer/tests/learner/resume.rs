//! Saved and restored, at any place, the learner goes on as if nothing had happened.

use rstest::rstest;
use vmafx_trainer::learner::{GateLimits, Learner, LearnerError, Options, Sample};

use crate::stream::{CLASSIC, base, learner, stern_samples};

/// Small lists, so that all of them have come round.
fn small() -> Options {
    Options {
        seed: 11,
        replay_capacity: 60,
        held_out_capacity: 12,
        window: 40,
        ranked: 50,
        ..Options::default()
    }
}

fn teach(learner: &mut Learner, samples: &[Sample]) {
    for sample in samples {
        learner.learn(sample).unwrap();
    }
}

#[rstest]
#[case::at_once(&[0])]
#[case::before_anything_is_full(&[7])]
#[case::when_rings_have_come_round(&[333])]
#[case::often(&[1, 2, 50, 61, 100, 250, 399])]
fn a_restored_learner_goes_on_bit_for_bit(#[case] stops: &[usize]) {
    let samples = stern_samples(400, 1);
    let mut undisturbed = learner(small());
    teach(&mut undisturbed, &samples);

    let mut disturbed = learner(small());
    for (index, sample) in samples.iter().enumerate() {
        if stops.contains(&index) {
            let state = disturbed.state();
            disturbed = Learner::restore(base(CLASSIC), small(), &state).unwrap();
            assert_eq!(disturbed.state(), state, "a state that is read and written is the same");
        }
        disturbed.learn(sample).unwrap();
    }
    assert_eq!(disturbed.export(), undisturbed.export());
    assert_eq!(disturbed.evaluation(), undisturbed.evaluation());
    assert_eq!(disturbed.gate(&GateLimits::default()), undisturbed.gate(&GateLimits::default()));
    assert_eq!(disturbed.state(), undisturbed.state());
}

#[test]
fn the_same_samples_make_the_same_learner_and_another_seed_another() {
    let samples = stern_samples(200, 2);
    let taught = |seed| {
        let mut learner = learner(Options { seed, ..small() });
        teach(&mut learner, &samples);
        learner.state()
    };
    assert_eq!(taught(3), taught(3));
    assert_ne!(taught(3), taught(4));
}

#[test]
fn refusals_and_samples_are_counted_across_a_restart() {
    let mut learner = learner(small());
    let mut samples = stern_samples(20, 3);
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
fn what_was_held_out_stays_held_out_whatever_the_options_say() {
    let samples = stern_samples(200, 4);
    let mut first = learner(small());
    let held_out: Vec<bool> = samples.iter().map(|sample| first.learn(sample).unwrap().held_out).collect();
    assert!(held_out.iter().filter(|held| **held).count() > 10);
    let other = Options { seed: 99, held_out_one_in: 3, ..small() };
    let mut second = Learner::restore(base(CLASSIC), other, &first.state()).unwrap();
    let again: Vec<bool> = samples.iter().map(|sample| second.learn(sample).unwrap().held_out).collect();
    assert_eq!(held_out, again);
}

#[test]
fn a_held_out_sample_is_never_learned_from() {
    let mut learner = learner(small());
    let mut held_out = 0;
    for sample in stern_samples(150, 8) {
        let (before, kept) = (learner.export(), learner.replayable());
        if learner.learn(&sample).unwrap().held_out {
            held_out += 1;
            assert_eq!((learner.export(), learner.replayable()), (before, kept));
        } else {
            assert_ne!(learner.export(), before);
        }
    }
    assert!(held_out > 5 && learner.samples() == 150, "{held_out}");
    assert_eq!(learner.evaluation().all.model.count, 150, "and yet it counts");
}

#[test]
fn smaller_lists_keep_the_newest() {
    let mut large = learner(Options { seed: 1, ..Options::default() });
    teach(&mut large, &stern_samples(300, 5));
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
fn no_cut_or_changed_state_is_taken_and_none_panics() {
    let mut learner = learner(small());
    teach(&mut learner, &stern_samples(100, 6));
    let state = learner.state();
    let restore = |state: &[u8]| Learner::restore(base(CLASSIC), small(), state);
    for length in (0..state.len()).step_by(997).chain([state.len() - 1]) {
        assert!(restore(&state[..length]).is_err(), "cut at {length}");
    }
    for place in (0..state.len()).step_by(1009) {
        let mut changed = state.clone();
        changed[place] ^= 0x41;
        assert!(restore(&changed).is_err(), "changed at {place}");
    }
    assert!(restore(&[]).is_err());
    assert!(restore(&vec![0xff; 1 << 16]).is_err());
}

#[test]
fn a_state_stays_small() {
    let mut learner = learner(Options::default());
    teach(&mut learner, &stern_samples(500, 7));
    // Ten numbers for a sample that is kept twice: for replay, and for the figures.
    assert!(learner.state().len() < 500 * 14 * 8 + 20_000, "{}", learner.state().len());
}
