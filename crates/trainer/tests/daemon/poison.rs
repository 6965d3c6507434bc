//! Invalid samples and false labels.

use vmafx_testkit::registry::{RegistryAuth, RegistryServer};
use vmafx_trainer::learner::{Learner, LearnerOptions, Sample};

use crate::checkpoints::RegistryReader;
use crate::clips::{Clip, ClipGenerator, base};
use crate::controller::Controller;
use crate::trainer::TrainerConfig;

#[tokio::test(flavor = "multi_thread")]
async fn invalid_samples_are_counted_and_false_labels_do_not_reach_the_stable_tag() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let checkpoints = RegistryReader::of(&registry);
    let mut generator = ClipGenerator::new(22);
    let clips: Vec<_> = (0..300).map(|_| generator.clip()).collect();
    let trainer = TrainerConfig::new("m", registry.address()).controller(&controller.address).start();
    let jobs = controller.score_and_label("node-0", &clips).await;
    let good = trainer
        .until("the stable tag", |status| status["current_samples"] == 300 && status["gate_passed"] == true)
        .await;
    let stable = checkpoints.get("m-stable").await.unwrap();

    // Samples that no real job produces are refused.
    let name = clips[0].features.keys().next().unwrap().clone();
    let mut huge = clips[0].clone();
    huge.features.insert(name.clone(), 1e308);
    let mut fewer = clips[0].clone();
    fewer.features.remove(&name);
    let nothing = Clip { features: [("psnr_y".to_owned(), 40.0)].into(), label: 50.0 };
    controller.score_and_label("node-0", &[huge, fewer, nothing]).await;
    let refused = async |reason: &str| {
        trainer.metric(&format!("vmafx_trainer_samples_refused_total{{reason=\"{reason}\"}}")).await
    };
    let all_refused = || async {
        (refused("implausible").await, refused("missing_feature").await) == (Some(1.0), Some(2.0))
    };
    vmafx_testkit::wait::until(crate::trainer::TIMEOUT, "the refusals", all_refused).await.unwrap();
    assert_eq!(trainer.status().await.unwrap()["current_samples"], good["current_samples"]);

    // Inverted labels, for all jobs that are not held out: the trainer learns from them, and the gate fails.
    let mut probe = Learner::new(base(), LearnerOptions::default()).unwrap();
    let not_held_out = jobs.iter().zip(&clips).filter(|(job, clip)| {
        let sample = Sample {
            job_id: (*job).clone(),
            features: clip.features.clone(),
            ground_truth: clip.label,
            labelled_by: String::new(),
        };
        !probe.learn(&sample).unwrap().held_out
    });
    let false_labels: Vec<_> = not_held_out.map(|(job, clip)| (job.clone(), 100.0 - clip.label)).collect();
    for _ in 0..4 {
        controller.label(false_labels.clone()).await;
    }
    let samples = 300 + 4 * false_labels.len() as u64;
    let status = trainer
        .until("a verdict", |status| status["current_samples"] == samples && status["samples_pending"] == 0)
        .await;
    assert_eq!((status["gate_passed"].as_bool(), status["phase"].as_str()), (Some(false), Some("running")));
    assert_ne!(status["model_version"], status["stable_version"]);
    let kept = checkpoints.get("m-stable").await.unwrap();
    assert_eq!(kept.facts.version(), status["stable_version"].as_str().unwrap());
    assert!(kept.facts.gate_passed && kept.facts.samples >= stable.facts.samples);
    assert!(kept.facts.held_out.model.rmse <= kept.facts.held_out.base.rmse);
}
