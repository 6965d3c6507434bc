//! Invalid samples and false labels.

use rstest::rstest;
use vmafx_trainer::learner::{GateLimits, GateOutcome, Learner, LearnerOptions, RefusalReason, Sample};

use crate::samples::{Rng, features, learner, sample, strict_samples};

fn rmse_on(learner: &Learner, clean: &[Sample]) -> f64 {
    let names = learner.base().features().to_vec();
    let squares: f64 = clean
        .iter()
        .map(|sample| {
            let features: Vec<f64> = names.iter().map(|name| sample.features[name]).collect();
            (learner.predict(&features) - sample.ground_truth).powi(2)
        })
        .sum();
    (squares / f64::from(u32::try_from(clean.len()).unwrap())).sqrt()
}

#[rstest]
#[case::nan(|sample: &mut Sample| set(sample, f64::NAN), RefusalReason::NotFinite)]
#[case::infinite(|sample: &mut Sample| set(sample, f64::INFINITY), RefusalReason::NotFinite)]
#[case::huge(|sample: &mut Sample| set(sample, 1e308), RefusalReason::Implausible)]
#[case::label_below(|sample: &mut Sample| sample.ground_truth = -1.0, RefusalReason::Label)]
#[case::label_above(|sample: &mut Sample| sample.ground_truth = 1e308, RefusalReason::Label)]
#[case::label_nan(|sample: &mut Sample| sample.ground_truth = f64::NAN, RefusalReason::Label)]
#[case::no_features(|sample: &mut Sample| sample.features.clear(), RefusalReason::Missing)]
#[case::features_of_another_model(|sample: &mut Sample| sample.features = [("cambi".to_owned(), 1.0)].into(), RefusalReason::Missing)]
#[case::too_many_features(|sample: &mut Sample| sample.features.extend((0..2000).map(|at| (format!("f{at}"), 0.0))), RefusalReason::Count)]
fn a_refused_sample_changes_a_counter_and_nothing_else(
    #[case] corrupt: fn(&mut Sample),
    #[case] reason: RefusalReason,
) {
    let mut trained = learner(LearnerOptions::default());
    let samples = strict_samples(30, 1);
    for sample in &samples[..29] {
        trained.learn(sample).unwrap();
    }
    let (mut untouched, mut corrupted) = (trained.clone(), samples[29].clone());
    corrupt(&mut corrupted);
    assert_eq!(trained.learn(&corrupted).unwrap_err().reason(), reason);
    for (found, count) in trained.refused() {
        assert_eq!(count, u64::from(found == reason), "{found:?}");
    }
    assert_eq!(trained.samples(), 29);
    // Later samples have the same effect as without the refused one.
    trained.learn(&samples[29]).unwrap();
    untouched.learn(&samples[29]).unwrap();
    assert_eq!((trained.export(), trained.evaluation()), (untouched.export(), untouched.evaluation()));
}

fn set(sample: &mut Sample, value: f64) {
    sample.features.insert("integer_motion2".to_owned(), value);
}

#[test]
fn a_list_of_the_wrong_length_is_refused() {
    let mut learner = learner(LearnerOptions::default());
    for length in [0, 5, 7, 80] {
        let refusal = learner.learn_row("job", &vec![0.5; length], 50.0).unwrap_err();
        assert_eq!(refusal.reason(), RefusalReason::Count);
    }
    assert!(learner.predict(&[0.5; 5]).is_nan());
}

#[test]
fn features_at_the_limits_of_validation_do_no_harm() {
    let mut learner = learner(LearnerOptions::default());
    let mut rng = Rng(9);
    for job in 0..2000 {
        let features = features(&mut rng).map(|_| if rng.next() < 0.5 { 1e6 } else { -1e6 });
        let _ = learner.learn(&sample(job, features, if rng.next() < 0.5 { 0.0 } else { 100.0 }));
    }
    assert_eq!(learner.samples(), 2000);
    let clean = strict_samples(200, 5);
    assert!(rmse_on(&learner, &clean).is_finite());
}

#[test]
fn three_random_labels_in_ten_still_make_a_better_model() {
    let (stream, clean) = (strict_samples(1500, 21), strict_samples(300, 22));
    let (mut honest, mut poisoned) = (learner(LearnerOptions::default()), learner(LearnerOptions::default()));
    let base = rmse_on(&honest, &clean);
    let mut rng = Rng(23);
    for sample in &stream {
        honest.learn(sample).unwrap();
        let mut sample = sample.clone();
        if rng.next() < 0.3 {
            sample.ground_truth = rng.next() * 100.0;
        }
        poisoned.learn(&sample).unwrap();
    }
    let (honest, poisoned) = (rmse_on(&honest, &clean), rmse_on(&poisoned, &clean));
    assert!(honest < 0.75 * base, "{honest} of {base}");
    assert!(poisoned < 0.9 * base, "{poisoned} of {base}; with correct labels {honest}");
}

/// Falsifies the labels of all jobs that are not held out.
fn train_on_false_labels(learner: &mut Learner, samples: Vec<Sample>, mut falsify: impl FnMut(f64) -> f64) {
    let untrained = learner.clone();
    for mut sample in samples {
        if !untrained.clone().learn(&sample).unwrap().held_out {
            sample.ground_truth = falsify(sample.ground_truth);
        }
        learner.learn(&sample).unwrap();
    }
}

#[test]
fn a_model_trained_on_false_labels_fails_the_gate() {
    let mut learner = learner(LearnerOptions::default());
    train_on_false_labels(&mut learner, strict_samples(600, 31), |label| 100.0 - label);
    let verdict = learner.gate(&GateLimits::default());
    assert_eq!(verdict.outcome, GateOutcome::Failed, "{verdict:?}");
    assert!(verdict.held_out.model.rmse > verdict.held_out.base.rmse, "{verdict:?}");
}

#[test]
fn a_model_trained_on_correct_labels_passes_once_enough_samples_are_held_out() {
    let mut learner = learner(LearnerOptions::default());
    let mut first_pass = None;
    for sample in strict_samples(400, 41) {
        learner.learn(&sample).unwrap();
        let verdict = learner.gate(&GateLimits::default());
        let held_out = verdict.held_out.model.count;
        if held_out < 10 {
            assert_eq!(verdict.outcome, GateOutcome::TooFewSamples);
        } else if verdict.passed() {
            first_pass.get_or_insert(held_out);
        }
    }
    assert!(first_pass.is_some(), "{:?}", learner.gate(&GateLimits::default()));
    assert!(learner.gate(&GateLimits::default()).passed());
}

#[test]
fn random_labels_alone_do_not_pass() {
    let mut learner = learner(LearnerOptions::default());
    let mut rng = Rng(51);
    train_on_false_labels(&mut learner, strict_samples(800, 52), |_| rng.next() * 100.0);
    assert!(!learner.gate(&GateLimits::default()).passed(), "{:?}", learner.gate(&GateLimits::default()));
}
