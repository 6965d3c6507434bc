//! Made-up clips: plausible features, and labels of viewers who disagree with the base model.

use std::collections::BTreeMap;

use vmafx_scoring::engine::models::Model;
use vmafx_trainer::learner::{BaseModel, Learner, LearnerOptions};

pub(crate) const BASE: &str = "vmaf_v0.6.1";

/// `SplitMix64`, so that every test run draws the same numbers.
#[derive(Clone)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn between(&mut self, min: f64, max: f64) -> f64 {
        let share = f64::from(u32::try_from(self.next() >> 32).unwrap()) / f64::from(u32::MAX);
        min + (max - min) * share
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

pub(crate) fn base_json() -> Vec<u8> {
    Model::named(BASE).unwrap().json().to_vec()
}

pub(crate) fn base() -> BaseModel {
    BaseModel::parse(BASE, &base_json()).unwrap()
}

#[derive(Clone, Debug)]
pub(crate) struct Clip {
    pub(crate) features: BTreeMap<String, f64>,
    pub(crate) label: f64,
}

/// Labels follow the base model's predictions, but are lower and noisy.
pub(crate) struct ClipGenerator {
    rng: Rng,
    names: Vec<String>,
    base: Learner,
}

impl ClipGenerator {
    pub(crate) fn new(seed: u64) -> Self {
        let (names, base) =
            (base().features().to_vec(), Learner::new(base(), LearnerOptions::default()).unwrap());
        Self { rng: Rng(seed), names, base }
    }

    fn row(&mut self) -> Vec<f64> {
        let names = self.names.clone();
        let quality = self.rng.between(0.3, 1.0);
        let value = |name: &String| {
            let max = if name.contains("motion") { 20.0 } else { 1.0 };
            let centre = if name.contains("motion") { 0.5 } else { quality };
            (centre + self.rng.between(-0.1, 0.1)).clamp(0.0, 1.0) * max
        };
        names.iter().map(value).collect()
    }

    fn label(&mut self, row: &[f64]) -> f64 {
        let predicted = self.base.predict(row);
        (predicted * 0.6 + 10.0 + self.rng.between(-8.0, 8.0)).clamp(0.0, 100.0)
    }

    /// A clip whose label is higher than the base model's prediction.
    pub(crate) fn mild_clip(&mut self) -> Clip {
        let row = self.row();
        let label = self.base.predict(&row) + 15.0 + self.rng.between(-8.0, 8.0);
        Clip { features: self.names.iter().cloned().zip(row).collect(), label: label.clamp(0.0, 100.0) }
    }

    pub(crate) fn clip(&mut self) -> Clip {
        let row = self.row();
        let label = self.label(&row);
        Clip { features: self.names.iter().cloned().zip(row).collect(), label }
    }
}
