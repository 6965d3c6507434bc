//! A third of the labels is wrong, and comes from a third of the labellers.

use vmafx_testkit::registry::{RegistryAuth, RegistryServer};
use vmafx_trainer::learner::{BaseModel, Learner, LearnerOptions};

use crate::checkpoints::RegistryReader;
use crate::clips::{BASE, Clip, ClipGenerator, base_json};
use crate::controller::Controller;
use crate::trainer::TrainerConfig;

const LABELLERS: usize = 6;
const ROUNDS: usize = 10;
const CLIPS_PER_ROUND: usize = 60;

/// RMSE of a model on clips.
fn rmse(model: &[u8], clips: &[Clip]) -> f64 {
    let base = BaseModel::parse(BASE, model).unwrap();
    let model = Learner::new(base, LearnerOptions::default()).unwrap();
    let names = model.base().features().to_vec();
    let error = |clip: &Clip| {
        let features: Vec<f64> = names.iter().map(|name| clip.features[name]).collect();
        model.predict(&features) - clip.label
    };
    let squares: f64 = clips.iter().map(|clip| error(clip).powi(2)).sum();
    (squares / f64::from(u32::try_from(clips.len()).unwrap())).sqrt()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_of_inverted_labels_moves_the_stable_tag_to_no_worse_model() {
    let labellers: Vec<String> = (0..LABELLERS).map(|number| format!("labeller-number-{number}")).collect();
    let (controller, registry) = (
        Controller::with_labellers(&labellers).await,
        RegistryServer::start(RegistryAuth::Open).await.unwrap(),
    );
    let checkpoints = RegistryReader::of(&registry);
    let mut generator = ClipGenerator::new(77);
    let trainer = TrainerConfig::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_CONTROLLER_TOKEN", &labellers[0])
        .start();
    let mut clips = Vec::new();
    for round in 1..=ROUNDS {
        for (number, labeller) in labellers.iter().enumerate() {
            let correct: Vec<Clip> =
                (0..CLIPS_PER_ROUND / LABELLERS).map(|_| generator.mild_clip()).collect();
            let mut given = correct.clone();
            if number % 3 == 0 {
                for clip in &mut given {
                    clip.label = 100.0 - clip.label;
                }
            }
            controller.score_and_label_as(labeller, "node-0", &given).await;
            clips.extend(correct);
        }
        let samples = (round * CLIPS_PER_ROUND) as u64;
        trainer
            .until("a checkpoint", |status| {
                status["current_samples"] == samples && status["samples_pending"] == 0
            })
            .await;
    }
    let status = trainer.status().await.unwrap();
    assert_eq!(status["labellers"], LABELLERS, "{status}");
    assert_eq!(trainer.metric("vmafx_trainer_labellers").await, Some(6.0));

    let base = rmse(&base_json(), &clips);
    let mut promoted = 0;
    for number in checkpoints.numbers("m").await {
        let version = checkpoints.get(&format!("m-v{number:06}")).await.unwrap();
        if version.facts.gate_passed {
            let found = rmse(&version.model, &clips);
            assert!(
                found <= base,
                "{} has RMSE {found} of {base}: {}",
                version.facts.version(),
                version.facts.gate_message
            );
            promoted += 1;
        }
    }
    assert!(promoted > 0, "the correct two thirds promoted nothing: {status}");
    let stable = checkpoints.get("m-stable").await.unwrap();
    assert!(rmse(&stable.model, &clips) <= base);
}
