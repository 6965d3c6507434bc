//! A trainer that is killed repeatedly learns the same model as an undisturbed one.

use serde_json::Value;
use vmafx_testkit::registry::{RegistryAuth, RegistryServer};

use crate::checkpoints::{RegistryReader, Version};
use crate::clips::{ClipGenerator, Rng};
use crate::controller::Controller;
use crate::trainer::{Trainer, TrainerConfig};

const SAMPLES: u64 = 20_000;
/// Each clip is labelled many times, and each label is a sample.
const CLIPS: usize = 200;

async fn samples(trainer: &Trainer) -> Option<u64> {
    trainer.status().await?["current_samples"].as_u64()
}

async fn last(checkpoints: &RegistryReader, name: &str) -> Version {
    let number = *checkpoints.numbers(name).await.last().unwrap();
    checkpoints.get(&format!("{name}-v{number:06}")).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trainer_that_is_killed_at_random_learns_the_same_model_to_the_last_byte() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let checkpoints = RegistryReader::of(&registry);
    let mut generator = ClipGenerator::new(5);
    let clips: Vec<_> = (0..CLIPS).map(|_| generator.clip()).collect();
    let jobs = controller.score_and_label("node-0", &clips).await;
    let mut rng = Rng(6);
    let more: Vec<(String, f64)> = (CLIPS as u64..SAMPLES)
        .map(|number| {
            let which = usize::try_from(number).unwrap() % CLIPS;
            let label = (clips[which].label + rng.between(-10.0, 10.0)).clamp(0.0, 100.0);
            (jobs[which].clone(), label)
        })
        .collect();
    controller.label(more).await;
    let config = |name| {
        TrainerConfig::new(name, registry.address())
            .controller(&controller.address)
            .set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "700")
    };

    let undisturbed = config("undisturbed").start();
    undisturbed.learned(SAMPLES).await;
    undisturbed.stop().await;

    let mut rng = Rng(7);
    let (mut kills, mut starts) = (0, Vec::new());
    loop {
        let saved = match checkpoints.numbers("killed").await.last() {
            Some(number) => checkpoints.get(&format!("killed-v{number:06}")).await.unwrap().facts.samples,
            None => 0,
        };
        let trainer = config("killed").start();
        let status = trainer.until("training to start", |status| status["phase"] == "running").await;
        let start = status["current_samples"].as_u64().unwrap();
        starts.push(start);
        assert!(start >= saved, "started with {start} samples, and the last checkpoint has {saved}");
        let end = (start + rng.below(4000)).min(SAMPLES);
        let reached = |status: &Value| status["current_samples"].as_u64() >= Some(end);
        trainer.until("the moment of the kill", reached).await;
        if samples(&trainer).await == Some(SAMPLES) {
            trainer.stop().await;
            break;
        }
        trainer.kill();
        kills += 1;
    }
    println!("killed {kills} times; started with {starts:?} samples");
    assert!(kills >= 4, "{starts:?}");
    assert!(starts.iter().any(|start| *start > 0), "no trainer resumed from a checkpoint");

    let (undisturbed, killed) = (last(&checkpoints, "undisturbed").await, last(&checkpoints, "killed").await);
    assert_eq!((undisturbed.facts.samples, killed.facts.samples), (SAMPLES, SAMPLES));
    assert_eq!(undisturbed.facts.cursor, killed.facts.cursor);
    assert_eq!(undisturbed.model, killed.model);
    assert_eq!(undisturbed.state, killed.state);
}
