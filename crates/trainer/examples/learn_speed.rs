//! Speed of the learner on one core with a full replay buffer. `make bench` runs it.
//!
//! Usage: `learn_speed SAMPLES`. Prints JSON: samples per second of CPU time, and the ratio of that time to the time
//! for the kernels alone (one exponential per support vector). Every learner of this model must compute the kernels,
//! so the ratio means the same on every machine.

#![allow(clippy::cast_precision_loss, reason = "counts and seconds stay far below 2^53")]

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use vmafx_scoring::engine::models::{Model, SupportVectorMachine};
use vmafx_trainer::learner::{BaseModel, Learner, LearnerOptions, Sample};

const BATCH: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let count: u64 = std::env::args().nth(1).ok_or("usage: learn_speed SAMPLES")?.parse()?;
    let model = Model::named("vmaf_v0.6.1")?;
    let base = BaseModel::parse("vmaf_v0.6.1", model.json())?;
    let options = LearnerOptions::default();
    let mut learner = Learner::new(base, options)?;
    let mut generator = SampleGenerator { names: learner.base().features().to_vec(), seed: 1, job: 0 };
    while learner.replayable() < options.replay_capacity {
        learner.learn(&generator.next())?;
    }
    let (mut learning, mut done) = (0.0, 0);
    while done < count {
        let batch: Vec<Sample> = (0..BATCH).map(|_| generator.next()).collect();
        let started = cpu_seconds();
        for sample in &batch {
            learner.learn(sample)?;
        }
        learning += cpu_seconds() - started;
        done += BATCH;
    }
    let kernels = kernel_seconds(&machine(&model)?, done);
    let per_second = done as f64 / learning;
    println!(
        "{}",
        json!({ "per_second": per_second, "over_bumps": learning / kernels, "samples": learner.samples() })
    );
    Ok(())
}

fn machine(model: &Model) -> Result<SupportVectorMachine, Box<dyn Error>> {
    let json: Value = serde_json::from_slice(model.json())?;
    let text = json
        .pointer("/model_dict/model")
        .and_then(Value::as_str)
        .ok_or("the model has no support vector machine")?;
    Ok(SupportVectorMachine::parse(text, model.feature_names().count())?)
}

/// CPU time of the kernels alone.
fn kernel_seconds(machine: &SupportVectorMachine, samples: u64) -> f64 {
    let started = cpu_seconds();
    for sample in 0..samples {
        let at = [0.9, 0.3, 0.4, 0.8, 0.8, (sample % 100) as f64 / 100.0];
        let kernel = |vector: &Vec<f64>| {
            let distance: f64 = vector.iter().zip(&at).map(|(a, b)| (a - b) * (a - b)).sum();
            (-machine.gamma * distance).exp()
        };
        let sum: f64 = machine
            .vectors
            .iter()
            .zip(&machine.weights)
            .map(|(vector, weight)| weight * kernel(vector))
            .sum();
        black_box(sum);
    }
    cpu_seconds() - started
}

/// An endless stream of random samples.
struct SampleGenerator {
    names: Vec<String>,
    seed: u64,
    job: u64,
}

impl SampleGenerator {
    fn next(&mut self) -> Sample {
        self.job += 1;
        let quality = self.random();
        let features: BTreeMap<String, f64> = self
            .names
            .clone()
            .into_iter()
            .map(|name| (name, f64::midpoint(quality, self.random())))
            .collect();
        Sample {
            job_id: format!("job-{}", self.job),
            features,
            ground_truth: quality * 80.0 + self.random() * 20.0,
            labelled_by: format!("labeller-{}", self.job % 7),
        }
    }

    fn random(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 40) as f64 / (1_u64 << 24) as f64
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
