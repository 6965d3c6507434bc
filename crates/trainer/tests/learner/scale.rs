//! The ends of the scale, and models with a score transform.

use serde_json::{Value, json};
use vmafx_scoring::engine::models::Model;
use vmafx_trainer::learner::{BaseModel, Learner, LearnerOptions};

use crate::samples::{CLASSIC, Rng, features, learner};

/// Without averaging and held-out jobs, a sample takes effect at once.
fn plain() -> LearnerOptions {
    LearnerOptions { ema: 0.0, held_out_one_in: 0, ..LearnerOptions::default() }
}

fn transformed(transform: &Value) -> Learner {
    let mut json: Value = serde_json::from_slice(Model::named(CLASSIC).unwrap().json()).unwrap();
    json["model_dict"]["score_transform"] = transform.clone();
    Learner::new(BaseModel::parse("transformed", json.to_string().as_bytes()).unwrap(), plain()).unwrap()
}

/// The share of a small error that one sample corrects.
fn corrected_share(learner: &mut Learner, features: &[f64]) -> f64 {
    let before = learner.predict(features);
    learner.learn_row("job", features, before - 4.0).unwrap();
    (before - learner.predict(features)) / 4.0
}

#[test]
fn updates_take_the_slope_of_the_transform_into_account() {
    let features = [0.9, 5.0, 0.4, 0.7, 0.8, 0.85];
    let share = |slope: f64| {
        corrected_share(&mut transformed(&json!({ "enabled": true, "p0": 30.0, "p1": slope })), &features)
    };
    // The variance of the prediction is that of the transformed score: a quarter at half the slope.
    let noise = plain().label_noise.powi(2);
    let variance = noise * share(1.0) / (1.0 - share(1.0));
    let expected = variance / 4.0 / (noise + variance / 4.0);
    assert!((share(0.5) - expected).abs() < 1e-9, "{} instead of {expected}", share(0.5));
    assert!(share(1.0) > share(0.5) + 0.05);
}

#[test]
fn a_disabled_transform_changes_nothing() {
    let features = [0.9, 5.0, 0.4, 0.7, 0.8, 0.85];
    let off = transformed(&json!({ "p0": 30.0, "p1": 0.1 }));
    assert_eq!(off.predict(&features).to_bits(), learner(plain()).predict(&features).to_bits());
}

#[test]
fn a_label_at_the_end_of_the_scale_accepts_every_score_beyond_it() {
    let mut learner = learner(plain());
    let mut rng = Rng(3);
    // Before clipping, the score is above 100.
    let beyond = [1.1, 6.0, 1.1, 1.1, 1.1, 1.1];
    assert!((learner.predict(&beyond) - 100.0).abs() < 1e-12);
    let before = learner.export();
    learner.learn_row("satisfied", &beyond, 100.0).unwrap();
    assert_eq!(learner.export(), before);
    learner.learn_row("not satisfied", &beyond, 99.0).unwrap();
    assert_ne!(learner.export(), before);
    // Predictions stay on the scale, whatever the labels are.
    for job in 0..500 {
        let features = features(&mut rng);
        let label = if rng.next() < 0.5 { 0.0 } else { 100.0 };
        let outcome = learner.learn_row(&job.to_string(), &features, label).unwrap();
        assert!((0.0..=100.0).contains(&outcome.prediction), "{outcome:?}");
    }
}

#[test]
fn predictions_follow_viewers_whose_opinions_change() {
    let (untrained, mut learner) = (learner(plain()), learner(plain()));
    let mut rng = Rng(5);
    let mut train = |learner: &mut Learner, shift: f64, count: u64| {
        let mut squares = Vec::new();
        for job in 0..count {
            let features = features(&mut rng);
            let label = (untrained.predict(&features) + shift).clamp(0.0, 100.0);
            let outcome = learner.learn_row(&format!("{shift} {job}"), &features, label).unwrap();
            squares.push((outcome.prediction - label).powi(2));
        }
        let recent = &squares[squares.len() - 100..];
        (recent.iter().sum::<f64>() / 100.0).sqrt()
    };
    assert!(train(&mut learner, 12.0, 3000) < 3.0);
    let after = train(&mut learner, -12.0, 600);
    assert!(after < 6.0, "RMSE {after} after 600 labels that are 24 points lower");
}
