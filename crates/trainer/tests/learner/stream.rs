//! Streams of samples made for a test.

use vmafx_scoring::engine::models::Model;
use vmafx_trainer::learner::{BaseModel, Learner, Options, Sample};

pub(crate) const CLASSIC: &str = "vmaf_v0.6.1";

pub(crate) fn base(name: &str) -> BaseModel {
    BaseModel::parse(name, Model::named(name).unwrap().json()).unwrap()
}

pub(crate) fn learner(options: Options) -> Learner {
    Learner::new(base(CLASSIC), options).unwrap()
}

/// Numbers without order, the same everywhere.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// From 0 to below 1.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let high = u32::try_from(self.0 >> 32).unwrap();
        f64::from(high) / (f64::from(u32::MAX) + 1.0)
    }
}

/// Features of a clip of this quality, from 0 to 1, as a classic model sees them.
pub(crate) fn features(chance: &mut Chance) -> [f64; 6] {
    let quality = chance.next();
    let mut part = |low: f64| low + (1.0 - low) * (quality * 0.9 + chance.next() * 0.1);
    let vif = [part(0.1), part(0.4), part(0.5), part(0.6)];
    [part(0.6), chance.next() * 15.0, vif[0], vif[1], vif[2], vif[3]]
}

/// A sample of the classic model.
pub(crate) fn sample(job: u64, features: [f64; 6], ground_truth: f64) -> Sample {
    let names = base_names();
    let features = names.into_iter().zip(features).collect();
    Sample { job_id: format!("job-{job}"), features, ground_truth }
}

fn base_names() -> Vec<String> {
    let names = ["adm2", "motion2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3"];
    names.into_iter().map(|name| format!("integer_{name}")).collect()
}

/// Viewers who are sterner than the model, and not of one mind.
pub(crate) fn stern(said: f64, chance: &mut Chance) -> f64 {
    let noise = (chance.next() + chance.next() + chance.next() - 1.5) * 16.0;
    (said * 0.75 + 2.0 + noise).clamp(0.0, 100.0)
}

/// So many samples from stern viewers.
pub(crate) fn stern_samples(count: u64, seed: u64) -> Vec<Sample> {
    let untaught = learner(Options::default());
    let mut chance = Chance(seed);
    (0..count)
        .map(|job| {
            let features = features(&mut chance);
            let label = stern(untaught.predict(&features), &mut chance);
            sample(job, features, label)
        })
        .collect()
}
