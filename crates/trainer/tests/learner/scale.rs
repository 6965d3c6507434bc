//! The ends of the scale, and scores that are made to fit another one.

use serde_json::{Value, json};
use vmafx_scoring::engine::models::Model;
use vmafx_trainer::learner::{BaseModel, Learner, Options};

use crate::stream::{CLASSIC, Chance, features, learner};

/// No average, and nothing held out: a sample is seen at once.
fn plain() -> Options {
    Options { ema: 0.0, held_out_one_in: 0, ..Options::default() }
}

/// The classic model with a transform.
fn transformed(transform: &Value) -> Learner {
    let mut json: Value = serde_json::from_slice(Model::named(CLASSIC).unwrap().json()).unwrap();
    json["model_dict"]["score_transform"] = transform.clone();
    Learner::new(BaseModel::parse("transformed", json.to_string().as_bytes()).unwrap(), plain()).unwrap()
}

/// The part of a small error that one sample takes away.
fn part_learned(learner: &mut Learner, features: &[f64]) -> f64 {
    let before = learner.predict(features);
    learner.learn_row("job", features, before - 4.0).unwrap();
    (before - learner.predict(features)) / 4.0
}

#[test]
fn a_transformed_model_is_learned_through_its_slope() {
    let features = [0.9, 5.0, 0.4, 0.7, 0.8, 0.85];
    let part = |slope: f64| {
        part_learned(&mut transformed(&json!({ "enabled": true, "p0": 30.0, "p1": slope })), &features)
    };
    // Unsureness counts in points of the transformed score: a quarter of it at half the slope.
    let noise = plain().label_noise.powi(2);
    let unsure = noise * part(1.0) / (1.0 - part(1.0));
    let expected = unsure / 4.0 / (noise + unsure / 4.0);
    assert!((part(0.5) - expected).abs() < 1e-9, "{} instead of {expected}", part(0.5));
    assert!(part(1.0) > part(0.5) + 0.05);
}

#[test]
fn a_transform_that_is_not_enabled_changes_nothing() {
    let features = [0.9, 5.0, 0.4, 0.7, 0.8, 0.85];
    let off = transformed(&json!({ "p0": 30.0, "p1": 0.1 }));
    assert_eq!(off.predict(&features).to_bits(), learner(plain()).predict(&features).to_bits());
}

#[test]
fn a_label_at_the_end_of_the_scale_is_content_with_more() {
    let mut learner = learner(plain());
    let mut chance = Chance(3);
    // Better than any picture: beyond 100 before it is clipped.
    let beyond = [1.1, 6.0, 1.1, 1.1, 1.1, 1.1];
    assert!((learner.predict(&beyond) - 100.0).abs() < 1e-12);
    let before = learner.export();
    learner.learn_row("content", &beyond, 100.0).unwrap();
    assert_eq!(learner.export(), before);
    learner.learn_row("not content", &beyond, 99.0).unwrap();
    assert_ne!(learner.export(), before);
    // And what it says stays on the scale, whatever it learns.
    for job in 0..500 {
        let features = features(&mut chance);
        let label = if chance.next() < 0.5 { 0.0 } else { 100.0 };
        let said = learner.learn_row(&job.to_string(), &features, label).unwrap();
        assert!((0.0..=100.0).contains(&said.prediction), "{said:?}");
    }
}

#[test]
fn viewers_who_change_their_minds_are_followed() {
    let (untaught, mut learner) = (learner(plain()), learner(plain()));
    let mut chance = Chance(5);
    let mut teach = |learner: &mut Learner, shift: f64, count: u64| {
        let mut squares = Vec::new();
        for job in 0..count {
            let features = features(&mut chance);
            let label = (untaught.predict(&features) + shift).clamp(0.0, 100.0);
            let said = learner.learn_row(&format!("{shift} {job}"), &features, label).unwrap();
            squares.push((said.prediction - label).powi(2));
        }
        let newest = &squares[squares.len() - 100..];
        (newest.iter().sum::<f64>() / 100.0).sqrt()
    };
    assert!(teach(&mut learner, 12.0, 3000) < 3.0);
    let after = teach(&mut learner, -12.0, 600);
    assert!(after < 6.0, "{after} points off, 600 labels after they moved by 24");
}
