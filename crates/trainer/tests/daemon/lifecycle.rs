//! From samples to checkpoints, and from a checkpoint to the next run.

use vmafx_api::training::TrainingPhase;
use vmafx_operator::training::poll::TrainerReport;
use vmafx_proto::controller::v1::StreamSamplesRequest;
use vmafx_testkit::registry::{RegistryAuth, RegistryServer};
use vmafx_trainer::learner::{Learner, LearnerOptions, Sample};

use crate::checkpoints::RegistryReader;
use crate::clips::{ClipGenerator, base};
use crate::controller::Controller;
use crate::trainer::TrainerConfig;

/// Enough for more than ten held-out samples, whatever the ids of the jobs are.
const MANY: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn samples_become_a_checkpoint_and_the_next_trainer_resumes_from_it() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let checkpoints = RegistryReader::of(&registry);
    let mut generator = ClipGenerator::new(1);
    let clips: Vec<_> = (0..360).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips[..MANY]).await;
    let config = TrainerConfig::new("m", registry.address()).controller(&controller.address);

    let trainer = config.start();
    trainer.learned(300).await;
    let status = trainer
        .until("the stable tag", |status| {
            status["stable_version"].is_string() && status["samples_pending"] == 0
        })
        .await;
    assert_eq!((status["phase"].as_str(), status["error"].as_str()), (Some("running"), Some("")));
    assert_eq!(trainer.page("/readyz").await.unwrap().0, 200);
    assert!(status["rmse"].as_f64() < status["base_rmse"].as_f64(), "{status}");
    trainer.stop().await;
    let first = checkpoints.get("m-stable").await.unwrap();
    assert_eq!((first.facts.samples, first.facts.uid.as_str()), (300, "uid-of-m"));
    assert_eq!(first.facts.version(), status["stable_version"].as_str().unwrap());

    controller.score_and_label("node-0", &clips[MANY..]).await;
    let trainer = config.start();
    trainer.learned(360).await;
    trainer.stop().await;
    let number = *checkpoints.numbers("m").await.last().unwrap();
    let last = checkpoints.get(&format!("m-v{number:06}")).await.unwrap();
    assert_eq!((last.facts.samples, last.facts.refused), (360, 0));

    // The model equals that of a learner that never stopped.
    let mut learner = Learner::new(base(), LearnerOptions::default()).unwrap();
    for (sample, clip) in samples(&controller).await.iter().zip(&clips) {
        assert_eq!(sample.features, clip.features);
        assert!((sample.ground_truth - clip.label).abs() < 1e-9);
        learner.learn(sample).unwrap();
    }
    assert!(last.model == learner.export(), "the same samples make another model");
}

async fn samples(controller: &Controller) -> Vec<Sample> {
    let mut client = controller.client();
    let mut stream = client.stream_samples(StreamSamplesRequest::default()).await.unwrap().into_inner();
    let mut samples = Vec::new();
    while let Some(item) = stream.message().await.unwrap() {
        samples.extend(item.sample.map(|sample| Sample {
            labelled_by: sample.labelled_by,
            job_id: sample.job_id,
            features: sample.features,
            ground_truth: sample.ground_truth,
        }));
    }
    samples
}

#[tokio::test(flavor = "multi_thread")]
async fn each_checkpoint_names_its_parent_and_a_failed_gate_keeps_the_stable_tag() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let checkpoints = RegistryReader::of(&registry);
    let mut generator = ClipGenerator::new(2);
    let clips: Vec<_> = (0..MANY).map(|_| generator.clip()).collect();
    let config = TrainerConfig::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_GATE_MAX_RMSE_RATIO", "0");
    let trainer = config.start();
    for part in clips.chunks(MANY / 2) {
        controller.score_and_label("node-0", part).await;
        trainer
            .until("a checkpoint", |status| status["samples_pending"] == 0 && status["model_version"] != "")
            .await;
    }
    let status = trainer
        .until("the last one", |status| status["current_samples"] == 300 && status["samples_pending"] == 0)
        .await;
    assert_eq!(status["gate_passed"], false);
    assert!(status["gate_message"].as_str().unwrap().contains("fails"), "{status}");
    assert_eq!(status["stable_version"], serde_json::Value::Null);
    trainer.stop().await;
    assert!(checkpoints.get("m-stable").await.is_none());
    let numbers = checkpoints.numbers("m").await;
    let mut before = None;
    for number in numbers {
        let version = checkpoints.get(&format!("m-v{number:06}")).await.unwrap();
        assert_eq!(version.facts.parent, before);
        before = Some(version.digest);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_samples_of_the_selected_nodes_are_learned() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let mut generator = ClipGenerator::new(3);
    for pool in ["a", "b", "a"] {
        controller.score_and_label(pool, &[generator.clip()]).await;
    }
    let trainer = TrainerConfig::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_NODE_SELECTOR", r#"{"pool":"a"}"#)
        .set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "10")
        .start();
    trainer.learned(2).await;
    trainer.stop().await;
    // Two samples are fewer than a checkpoint needs, but a shutdown saves them.
    let last = RegistryReader::of(&registry).get("m-v000001").await.unwrap();
    assert_eq!(last.facts.samples, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_parses_every_field_of_the_status() {
    let (controller, registry) =
        (Controller::start().await, RegistryServer::start(RegistryAuth::Open).await.unwrap());
    let mut generator = ClipGenerator::new(4);
    let clips: Vec<_> = (0..MANY).map(|_| generator.clip()).collect();
    controller.score_and_label("node-0", &clips).await;
    let trainer = TrainerConfig::new("m", registry.address()).controller(&controller.address).start();
    let status = trainer
        .until("a checkpoint", |status| {
            status["samples_pending"] == 0 && status["stable_version"].is_string()
        })
        .await;
    trainer.until("metrics", |status| status["srocc"].is_number()).await;
    let (_, body) = trainer.page("/status").await.unwrap();
    let report = TrainerReport::parse(body.as_bytes()).unwrap();
    assert_eq!(report.phase, TrainingPhase::Running);
    assert_eq!((report.samples, report.samples_pending), (Some(300), Some(0)));
    assert!(report.checkpoint.is_some());
    assert_eq!(report.version.as_deref(), status["model_version"].as_str());
    assert_eq!(report.digest.as_deref(), status["digest"].as_str());
    assert!(report.digest.unwrap().starts_with("sha256:"));
    assert_eq!(report.stable_version.as_deref(), status["stable_version"].as_str());
    let metrics = report.metrics;
    let all = [metrics.rmse, metrics.plcc, metrics.srocc, metrics.base_rmse, metrics.base_srocc];
    assert!(all.iter().all(Option::is_some), "{all:?}");
    assert_eq!(report.gate_passed, Some(true));
    assert!(report.gate_message.contains("holds"), "{}", report.gate_message);
    assert_eq!((report.push_error.as_str(), report.error.as_str()), ("", ""));
    for series in [
        "vmafx_trainer_samples_total",
        "vmafx_trainer_stream_connected",
        "vmafx_trainer_rmse{model=\"learned\",window=\"recent\"}",
        "vmafx_trainer_srocc{model=\"base\",window=\"all\"}",
        "vmafx_trainer_last_checkpoint_timestamp_seconds",
        "vmafx_trainer_checkpoint_push_seconds_count",
    ] {
        assert!(trainer.metric(series).await.is_some_and(|value| value > 0.0), "{series}");
    }
    assert_eq!(trainer.metric("vmafx_trainer_samples_refused_total{reason=\"label\"}").await, Some(0.0));
}
