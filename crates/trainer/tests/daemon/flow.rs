//! From samples to a model, and on from there.

use vmafx_api::training::TrainingPhase;
use vmafx_operator::training::poll::TrainerReport;
use vmafx_proto::controller::v1::StreamSamplesRequest;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::registry::{Access, Registry};
use vmafx_trainer::learner::{Learner, Options, Sample};

use crate::clips::{Studio, base};
use crate::controller::Controller;
use crate::shelf::Shelf;
use crate::trainer::Plan;

/// So many that more than ten of them are held out, whatever the jobs are called.
const MANY: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn samples_become_a_checkpoint_and_the_next_trainer_goes_on_from_it() {
    let (controller, registry) = (Controller::start().await, Registry::start(Access::Open).await.unwrap());
    let shelf = Shelf::of(&registry);
    let mut studio = Studio::new(1);
    let clips: Vec<_> = (0..360).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips[..MANY]).await;
    let plan = Plan::new("m", registry.address()).controller(&controller.address);

    let trainer = plan.start();
    trainer.learned(300).await;
    let status = trainer
        .until("the stable tag", |status| {
            status["stable_version"].is_string() && status["samples_pending"] == 0
        })
        .await;
    assert_eq!((status["phase"].as_str(), status["error"].as_str()), (Some("running"), Some("")));
    assert_eq!(trainer.page("/readyz").await.unwrap().0, 200);
    assert!(status["rmse"].as_f64() < status["base_rmse"].as_f64(), "{status}");
    trainer.leave().await;
    let first = shelf.get("m-stable").await.unwrap();
    assert_eq!((first.facts.samples, first.facts.uid.as_str()), (300, "uid-of-m"));
    assert_eq!(first.facts.version(), status["stable_version"].as_str().unwrap());

    controller.judge("node-0", &clips[MANY..]).await;
    let trainer = plan.start();
    trainer.learned(360).await;
    trainer.leave().await;
    let number = *shelf.numbers("m").await.last().unwrap();
    let last = shelf.get(&format!("m-v{number:06}")).await.unwrap();
    assert_eq!((last.facts.samples, last.facts.refused), (360, 0));

    // The same as if nobody had ever left.
    let mut learner = Learner::new(base(), Options::default()).unwrap();
    for (sample, clip) in samples(&controller).await.iter().zip(&clips) {
        assert_eq!(sample.features, clip.features);
        assert!((sample.ground_truth - clip.label).abs() < 1e-9);
        learner.learn(sample).unwrap();
    }
    assert!(last.model == learner.export(), "not the model that the same samples make");
}

/// All samples, in their order.
async fn samples(controller: &Controller) -> Vec<Sample> {
    let mut client = VmafxControllerClient::connect(format!("http://{}", controller.address)).await.unwrap();
    let mut stream = client.stream_samples(StreamSamplesRequest::default()).await.unwrap().into_inner();
    let mut samples = Vec::new();
    while let Some(item) = stream.message().await.unwrap() {
        samples.extend(item.sample.map(|sample| Sample {
            job_id: sample.job_id,
            features: sample.features,
            ground_truth: sample.ground_truth,
        }));
    }
    samples
}

#[tokio::test(flavor = "multi_thread")]
async fn each_checkpoint_names_the_one_before_it_and_a_gate_that_fails_holds_the_stable_tag() {
    let (controller, registry) = (Controller::start().await, Registry::start(Access::Open).await.unwrap());
    let shelf = Shelf::of(&registry);
    let mut studio = Studio::new(2);
    let clips: Vec<_> = (0..MANY).map(|_| studio.clip()).collect();
    let plan = Plan::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_GATE_MAX_RMSE_RATIO", "0");
    let trainer = plan.start();
    for part in clips.chunks(MANY / 2) {
        controller.judge("node-0", part).await;
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
    trainer.leave().await;
    assert!(shelf.get("m-stable").await.is_none());
    let numbers = shelf.numbers("m").await;
    let mut before = None;
    for number in numbers {
        let version = shelf.get(&format!("m-v{number:06}")).await.unwrap();
        assert_eq!(version.facts.parent, before);
        before = Some(version.digest);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_samples_of_the_selected_nodes_are_learned() {
    let (controller, registry) = (Controller::start().await, Registry::start(Access::Open).await.unwrap());
    let mut studio = Studio::new(3);
    for pool in ["a", "b", "a"] {
        controller.judge(pool, &[studio.clip()]).await;
    }
    let trainer = Plan::new("m", registry.address())
        .controller(&controller.address)
        .set("VMAFX_TRAINER_NODE_SELECTOR", r#"{"pool":"a"}"#)
        .set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "10")
        .start();
    trainer.learned(2).await;
    trainer.leave().await;
    // Two are less than a checkpoint needs, but nothing is lost by leaving.
    let left = Shelf::of(&registry).get("m-v000001").await.unwrap();
    assert_eq!(left.facts.samples, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_understands_every_word_of_the_status() {
    let (controller, registry) = (Controller::start().await, Registry::start(Access::Open).await.unwrap());
    let mut studio = Studio::new(4);
    let clips: Vec<_> = (0..MANY).map(|_| studio.clip()).collect();
    controller.judge("node-0", &clips).await;
    let trainer = Plan::new("m", registry.address()).controller(&controller.address).start();
    let status = trainer
        .until("a checkpoint", |status| {
            status["samples_pending"] == 0 && status["stable_version"].is_string()
        })
        .await;
    trainer.until("figures", |status| status["srocc"].is_number()).await;
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
