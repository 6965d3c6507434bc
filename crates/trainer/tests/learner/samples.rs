//! Made-up samples.

use vmafx_scoring::engine::models::Model;
use vmafx_trainer::learner::{BaseModel, Learner, LearnerOptions, Sample};

pub(crate) const CLASSIC: &str = "vmaf_v0.6.1";

pub(crate) fn base(name: &str) -> BaseModel {
    BaseModel::parse(name, Model::named(name).unwrap().json()).unwrap()
}

pub(crate) fn learner(options: LearnerOptions) -> Learner {
    Learner::new(base(CLASSIC), options).unwrap()
}

/// A linear congruential generator, so that every test run draws the same numbers.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    /// From 0 to below 1.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let high = u32::try_from(self.0 >> 32).unwrap();
        f64::from(high) / (f64::from(u32::MAX) + 1.0)
    }
}

/// Features of a clip of random quality, in the order of the classic model.
pub(crate) fn features(rng: &mut Rng) -> [f64; 6] {
    let quality = rng.next();
    let mut part = |low: f64| low + (1.0 - low) * (quality * 0.9 + rng.next() * 0.1);
    let vif = [part(0.1), part(0.4), part(0.5), part(0.6)];
    [part(0.6), rng.next() * 15.0, vif[0], vif[1], vif[2], vif[3]]
}

/// A sample with features in the order of the classic model.
pub(crate) fn sample(job: u64, features: [f64; 6], ground_truth: f64) -> Sample {
    let names = base_names();
    let features = names.into_iter().zip(features).collect();
    Sample { job_id: format!("job-{job}"), features, ground_truth, labelled_by: String::new() }
}

fn base_names() -> Vec<String> {
    let names = ["adm2", "motion2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3"];
    names.into_iter().map(|name| format!("integer_{name}")).collect()
}

/// A noisy label that is lower than the prediction.
fn strict_label(prediction: f64, rng: &mut Rng) -> f64 {
    let noise = (rng.next() + rng.next() + rng.next() - 1.5) * 16.0;
    (prediction * 0.75 + 2.0 + noise).clamp(0.0, 100.0)
}

/// Samples of viewers who are stricter than the model.
pub(crate) fn strict_samples(count: u64, seed: u64) -> Vec<Sample> {
    let untrained = learner(LearnerOptions::default());
    let mut rng = Rng(seed);
    (0..count)
        .map(|job| {
            let features = features(&mut rng);
            let label = strict_label(untrained.predict(&features), &mut rng);
            sample(job, features, label)
        })
        .collect()
}
