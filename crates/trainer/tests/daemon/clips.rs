//! Clips that were never filmed: features as pictures have them, and viewers with a taste of their own.

use std::collections::BTreeMap;

use vmafx_scoring::engine::models::Model;
use vmafx_trainer::learner::{BaseModel, Learner, Options};

pub(crate) const BASE: &str = "vmaf_v0.6.1";

/// Chance that is the same in every run (`SplitMix64`).
#[derive(Clone)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn between(&mut self, least: f64, most: f64) -> f64 {
        let share = f64::from(u32::try_from(self.next() >> 32).unwrap()) / f64::from(u32::MAX);
        least + (most - least) * share
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}

pub(crate) fn base_json() -> Vec<u8> {
    Model::named(BASE).unwrap().json().to_vec()
}

pub(crate) fn base() -> BaseModel {
    BaseModel::parse(BASE, &base_json()).unwrap()
}

/// A judged clip.
#[derive(Clone, Debug)]
pub(crate) struct Clip {
    pub(crate) features: BTreeMap<String, f64>,
    pub(crate) label: f64,
}

/// Makes clips. Viewers see them as the base model does, but are stricter, and not all alike.
pub(crate) struct Studio {
    chance: Chance,
    names: Vec<String>,
    base: Learner,
}

impl Studio {
    pub(crate) fn new(seed: u64) -> Self {
        let (names, base) = (base().features().to_vec(), Learner::new(base(), Options::default()).unwrap());
        Self { chance: Chance(seed), names, base }
    }

    pub(crate) fn row(&mut self) -> Vec<f64> {
        let names = self.names.clone();
        let quality = self.chance.between(0.3, 1.0);
        let of = |name: &String| {
            let most = if name.contains("motion") { 20.0 } else { 1.0 };
            let centre = if name.contains("motion") { 0.5 } else { quality };
            (centre + self.chance.between(-0.1, 0.1)).clamp(0.0, 1.0) * most
        };
        names.iter().map(of).collect()
    }

    pub(crate) fn label(&mut self, row: &[f64]) -> f64 {
        let seen = self.base.predict(row);
        (seen * 0.6 + 10.0 + self.chance.between(-8.0, 8.0)).clamp(0.0, 100.0)
    }

    pub(crate) fn clip(&mut self) -> Clip {
        let row = self.row();
        let label = self.label(&row);
        Clip { features: self.names.iter().cloned().zip(row).collect(), label }
    }
}
