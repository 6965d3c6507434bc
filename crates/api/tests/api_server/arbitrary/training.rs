use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use vmafx_api::conditions::TrainingCondition;
use vmafx_api::training::{
    Algorithm, CheckpointPolicy, DataSource, PromotionGate, TrainingMetrics, TrainingPhase,
};
use vmafx_api::{VmafxModelTrainingSpec, VmafxModelTrainingStatus};

use super::{conditions, count, labels, number, pod_template, stateful_set, text, time};

pub(crate) fn training() -> impl Strategy<Value = (VmafxModelTrainingSpec, VmafxModelTrainingStatus)> {
    (spec(), status())
}

fn spec() -> impl Strategy<Value = VmafxModelTrainingSpec> {
    let data = option::of(option::of(labels()).prop_map(|node_selector| DataSource { node_selector }));
    let checkpoint = ("[1-9][0-9]{0,3}(s|m|h)", 1..=i32::MAX)
        .prop_map(|(interval, min_samples)| CheckpointPolicy { interval, min_samples });
    let gate = (0.0..2.0_f64, 0.0..100.0_f64)
        .prop_map(|(max_srocc_drop, max_rmse_ratio)| PromotionGate { max_srocc_drop, max_rmse_ratio });
    let registry = "[a-z0-9]{1,10}(:[0-9]{2,5})?(/[a-z0-9]{1,10}){1,3}";
    let image = option::of("[a-z][a-z0-9./:@-]{0,40}");
    let secret = option::of("[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?");
    let learning = ("\\PC{1,40}", data, checkpoint, registry, any::<bool>(), gate);
    let pod = (image, secret, option::of(pod_template()));
    (learning, pod).prop_map(
        |(
            (base_model, data_source, checkpoint, output_registry, paused, gate),
            (image, registry_secret, pod_template),
        )| {
            VmafxModelTrainingSpec {
                base_model,
                data_source,
                algorithm: Algorithm::OnlineSgdEma,
                checkpoint,
                output_registry,
                paused,
                image,
                registry_secret,
                gate,
                pod_template,
            }
        },
    )
}

fn status() -> impl Strategy<Value = VmafxModelTrainingStatus> {
    let phases = vec![
        TrainingPhase::Initializing,
        TrainingPhase::Running,
        TrainingPhase::Paused,
        TrainingPhase::Failed,
    ];
    let types = TrainingCondition::ALL.iter().map(|c| c.as_str()).collect();
    let progress = (option::of(count()), option::of(time()), option::of(text()), option::of(select(phases)));
    let operator =
        (option::of(any::<i64>()), conditions(types), option::of(stateful_set()), option::of(count()));
    let model = (option::of(metrics()), option::of(text()), option::of("sha256:[0-9a-f]{64}"));
    (progress, operator, model).prop_map(|(progress, operator, model)| {
        let (current_samples, last_checkpoint, model_version, phase) = progress;
        let (observed_generation, conditions, stateful_set, samples_pending) = operator;
        let (metrics, stable_version, digest) = model;
        VmafxModelTrainingStatus {
            current_samples,
            last_checkpoint,
            model_version,
            phase,
            observed_generation,
            conditions,
            stateful_set,
            samples_pending,
            metrics,
            stable_version,
            digest,
        }
    })
}

fn metrics() -> impl Strategy<Value = TrainingMetrics> {
    proptest::array::uniform5(option::of(number())).prop_map(|[rmse, plcc, srocc, base_rmse, base_srocc]| {
        TrainingMetrics { rmse, plcc, srocc, base_rmse, base_srocc }
    })
}
