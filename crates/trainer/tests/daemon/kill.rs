//! A trainer that is killed again and again learns what an undisturbed one learns.

use vmafx_testkit::registry::{RegistryAuth, RegistryServer};

use crate::clips::{Chance, Studio};
use crate::controller::Controller;
use crate::shelf::{Shelf, Version};
use crate::trainer::{Plan, Trainer};

const SAMPLES: u64 = 20_000;
/// Clips; each is judged many times, and each judgement is a sample.
const CLIPS: usize = 200;

async fn samples(trainer: &Trainer) -> Option<u64> {
    trainer.status().await?["current_samples"].as_u64()
}

async fn last(shelf: &Shelf, name: &str) -> Version {
    let number = *shelf.numbers(name).await.last().unwrap();
    shelf.get(&format!("{name}-v{number:06}")).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trainer_that_is_killed_at_random_learns_the_same_model_to_the_last_byte() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let shelf = Shelf::of(&registry);
    let mut studio = Studio::new(5);
    let clips: Vec<_> = (0..CLIPS).map(|_| studio.clip()).collect();
    let jobs = controller.judge("node-0", &clips).await;
    let mut chance = Chance(6);
    let more: Vec<(String, f64)> = (CLIPS as u64..SAMPLES)
        .map(|number| {
            let which = usize::try_from(number).unwrap() % CLIPS;
            let label = (clips[which].label + chance.between(-10.0, 10.0)).clamp(0.0, 100.0);
            (jobs[which].clone(), label)
        })
        .collect();
    controller.label(more).await;
    let plan = |name| {
        Plan::new(name, registry.address())
            .controller(&controller.address)
            .set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "700")
    };

    let calm = plan("calm").start();
    calm.learned(SAMPLES).await;
    calm.leave().await;

    let mut chance = Chance(7);
    let (mut kills, mut begun_with) = (0, Vec::new());
    loop {
        let saved = match shelf.numbers("stormy").await.last() {
            Some(number) => shelf.get(&format!("stormy-v{number:06}")).await.unwrap().facts.samples,
            None => 0,
        };
        let trainer = plan("stormy").start();
        let begin = trainer.until("a beginning", |status| status["phase"] == "running").await;
        let begin = begin["current_samples"].as_u64().unwrap();
        begun_with.push(begin);
        assert!(begin >= saved, "{begin} {saved}");
        let end = (begin + chance.below(4000)).min(SAMPLES);
        trainer.until("the moment", |status| status["current_samples"].as_u64() >= Some(end)).await;
        if samples(&trainer).await == Some(SAMPLES) {
            trainer.leave().await;
            break;
        }
        trainer.kill();
        kills += 1;
    }
    println!("killed {kills} times; begun with {begun_with:?} samples");
    assert!(kills >= 4, "{begun_with:?}");
    assert!(begun_with.iter().any(|begin| *begin > 0), "no checkpoint was ever gone on from");

    let (calm, stormy) = (last(&shelf, "calm").await, last(&shelf, "stormy").await);
    assert_eq!((calm.facts.samples, stormy.facts.samples), (SAMPLES, SAMPLES));
    assert_eq!(calm.facts.cursor, stormy.facts.cursor);
    assert_eq!(calm.model, stormy.model);
    assert_eq!(calm.state, stormy.state);
}
