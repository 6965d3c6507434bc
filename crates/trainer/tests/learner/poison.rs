//! Streams with something wrong in them.

use rstest::rstest;
use vmafx_trainer::learner::{GateLimits, Learner, Options, RefusalKind, Sample};

use crate::stream::{Chance, features, learner, sample, stern_samples};

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
#[case::nan(|sample: &mut Sample| set(sample, f64::NAN), RefusalKind::NotFinite)]
#[case::infinite(|sample: &mut Sample| set(sample, f64::INFINITY), RefusalKind::NotFinite)]
#[case::huge(|sample: &mut Sample| set(sample, 1e308), RefusalKind::Implausible)]
#[case::label_below(|sample: &mut Sample| sample.ground_truth = -1.0, RefusalKind::Label)]
#[case::label_above(|sample: &mut Sample| sample.ground_truth = 1e308, RefusalKind::Label)]
#[case::label_nan(|sample: &mut Sample| sample.ground_truth = f64::NAN, RefusalKind::Label)]
#[case::no_features(|sample: &mut Sample| sample.features.clear(), RefusalKind::Missing)]
#[case::features_of_another_model(|sample: &mut Sample| sample.features = [("cambi".to_owned(), 1.0)].into(), RefusalKind::Missing)]
#[case::a_flood_of_features(|sample: &mut Sample| sample.features.extend((0..2000).map(|at| (format!("f{at}"), 0.0))), RefusalKind::Count)]
fn a_refused_sample_changes_a_counter_and_nothing_else(
    #[case] spoil: fn(&mut Sample),
    #[case] kind: RefusalKind,
) {
    let mut taught = learner(Options::default());
    let samples = stern_samples(30, 1);
    for sample in &samples[..29] {
        taught.learn(sample).unwrap();
    }
    let (mut untouched, mut spoiled) = (taught.clone(), samples[29].clone());
    spoil(&mut spoiled);
    assert_eq!(taught.learn(&spoiled).unwrap_err().kind(), kind);
    for (found, count) in taught.refused() {
        assert_eq!(count, u64::from(found == kind), "{found:?}");
    }
    assert_eq!(taught.samples(), 29);
    // All that follows is as if it had never come.
    taught.learn(&samples[29]).unwrap();
    untouched.learn(&samples[29]).unwrap();
    assert_eq!((taught.export(), taught.evaluation()), (untouched.export(), untouched.evaluation()));
}

fn set(sample: &mut Sample, value: f64) {
    sample.features.insert("integer_motion2".to_owned(), value);
}

#[test]
fn a_list_of_the_wrong_length_is_refused() {
    let mut learner = learner(Options::default());
    for length in [0, 5, 7, 80] {
        let refusal = learner.learn_row("job", &vec![0.5; length], 50.0).unwrap_err();
        assert_eq!(refusal.kind(), RefusalKind::Count);
    }
    assert!(learner.predict(&[0.5; 5]).is_nan());
}

#[test]
fn features_at_the_edge_of_what_is_taken_harm_nothing() {
    let mut learner = learner(Options::default());
    let mut chance = Chance(9);
    for job in 0..2000 {
        let features = features(&mut chance).map(|_| if chance.next() < 0.5 { 1e6 } else { -1e6 });
        let _ = learner.learn(&sample(job, features, if chance.next() < 0.5 { 0.0 } else { 100.0 }));
    }
    assert_eq!(learner.samples(), 2000);
    let clean = stern_samples(200, 5);
    assert!(rmse_on(&learner, &clean).is_finite());
}

#[test]
fn three_labels_in_ten_at_random_still_make_a_better_model() {
    let (stream, clean) = (stern_samples(1500, 21), stern_samples(300, 22));
    let (mut honest, mut poisoned) = (learner(Options::default()), learner(Options::default()));
    let base = rmse_on(&honest, &clean);
    let mut chance = Chance(23);
    for sample in &stream {
        honest.learn(sample).unwrap();
        let mut sample = sample.clone();
        if chance.next() < 0.3 {
            sample.ground_truth = chance.next() * 100.0;
        }
        poisoned.learn(&sample).unwrap();
    }
    let (honest, poisoned) = (rmse_on(&honest, &clean), rmse_on(&poisoned, &clean));
    assert!(honest < 0.75 * base, "{honest} of {base}");
    assert!(poisoned < 0.9 * base, "{poisoned} of {base}; without poison {honest}");
}

/// Gives false labels to the jobs that are learned from, and honest ones to those that judge.
fn teach_all_but_the_judges(learner: &mut Learner, samples: Vec<Sample>, mut lie: impl FnMut(f64) -> f64) {
    let untaught = learner.clone();
    for mut sample in samples {
        if !untaught.clone().learn(&sample).unwrap().held_out {
            sample.ground_truth = lie(sample.ground_truth);
        }
        learner.learn(&sample).unwrap();
    }
}

#[test]
fn a_model_taught_nonsense_is_held_back() {
    let mut learner = learner(Options::default());
    teach_all_but_the_judges(&mut learner, stern_samples(600, 31), |honest| 100.0 - honest);
    let verdict = learner.gate(&GateLimits::default());
    assert!(!verdict.passed && verdict.message.contains("fails"), "{verdict:?}");
    assert!(verdict.held_out.model.rmse > verdict.held_out.base.rmse, "{verdict:?}");
}

#[test]
fn a_model_taught_by_honest_viewers_passes_once_enough_are_held_out() {
    let mut learner = learner(Options::default());
    let mut first_pass = None;
    for sample in stern_samples(400, 41) {
        learner.learn(&sample).unwrap();
        let verdict = learner.gate(&GateLimits::default());
        let held_out = verdict.held_out.model.count;
        if held_out < 10 {
            assert!(!verdict.passed);
            assert_eq!(verdict.message, format!("{held_out} of 10 held-out samples so far"));
        } else if verdict.passed {
            first_pass.get_or_insert(held_out);
        }
    }
    assert!(first_pass.is_some(), "{:?}", learner.gate(&GateLimits::default()));
    assert!(learner.gate(&GateLimits::default()).passed);
}

#[test]
fn random_labels_alone_do_not_pass() {
    let mut learner = learner(Options::default());
    let mut chance = Chance(51);
    teach_all_but_the_judges(&mut learner, stern_samples(800, 52), |_| chance.next() * 100.0);
    assert!(!learner.gate(&GateLimits::default()).passed, "{:?}", learner.gate(&GateLimits::default()));
}
