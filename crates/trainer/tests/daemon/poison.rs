//! A stream that somebody spoils.

use vmafx_testkit::registry::{RegistryAuth, RegistryServer};
use vmafx_trainer::learner::{Learner, Options, Sample};

use crate::clips::{Clip, Studio, base};
use crate::controller::Controller;
use crate::shelf::Shelf;
use crate::trainer::Plan;

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_counted_and_lies_do_not_reach_the_stable_tag() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let shelf = Shelf::of(&registry);
    let mut studio = Studio::new(22);
    let clips: Vec<_> = (0..300).map(|_| studio.clip()).collect();
    let trainer = Plan::new("m", registry.address()).controller(&controller.address).start();
    let jobs = controller.judge("node-0", &clips).await;
    let good = trainer
        .until("the stable tag", |status| status["current_samples"] == 300 && status["gate_passed"] == true)
        .await;
    let stable = shelf.get("m-stable").await.unwrap();

    // What no job has: refused, one by one.
    let name = clips[0].features.keys().next().unwrap().clone();
    let mut huge = clips[0].clone();
    huge.features.insert(name.clone(), 1e308);
    let mut fewer = clips[0].clone();
    fewer.features.remove(&name);
    let nothing = Clip { features: [("psnr_y".to_owned(), 40.0)].into(), label: 50.0 };
    controller.judge("node-0", &[huge, fewer, nothing]).await;
    let refused = async |reason: &str| {
        trainer.metric(&format!("vmafx_trainer_samples_refused_total{{reason=\"{reason}\"}}")).await
    };
    let what = "the refusals";
    let all = || async {
        (refused("implausible").await, refused("missing_feature").await) == (Some(1.0), Some(2.0))
    };
    vmafx_testkit::wait::until(crate::trainer::PATIENCE, what, all).await.unwrap();
    assert_eq!(trainer.status().await.unwrap()["current_samples"], good["current_samples"]);

    // Viewers who say the opposite of what they see, of all clips but those that judge: learned from, and held back.
    let mut probe = Learner::new(base(), Options::default()).unwrap();
    let taught = jobs.iter().zip(&clips).filter(|(job, clip)| {
        let sample =
            Sample { job_id: (*job).clone(), features: clip.features.clone(), ground_truth: clip.label };
        !probe.learn(&sample).unwrap().held_out
    });
    let lies: Vec<_> = taught.map(|(job, clip)| (job.clone(), 100.0 - clip.label)).collect();
    for _ in 0..4 {
        controller.label(lies.clone()).await;
    }
    let samples = 300 + 4 * lies.len() as u64;
    let status = trainer
        .until("a verdict", |status| status["current_samples"] == samples && status["samples_pending"] == 0)
        .await;
    assert_eq!((status["gate_passed"].as_bool(), status["phase"].as_str()), (Some(false), Some("running")));
    assert_ne!(status["model_version"], status["stable_version"]);
    let kept = shelf.get("m-stable").await.unwrap();
    assert_eq!(kept.facts.version(), status["stable_version"].as_str().unwrap());
    assert!(kept.facts.gate_passed && kept.facts.samples >= stable.facts.samples);
    assert!(kept.facts.held_out.model.rmse <= kept.facts.held_out.base.rmse);
}
