//! The daemon's tasks.
//!
//! | task       | does                                                                          |
//! |------------|-------------------------------------------------------------------------------|
//! | `samples`  | follows the controller's stream, at the learner's pace                        |
//! | `trainer`  | finds the starting point, then learns and takes checkpoints                   |
//! | `http`     | serves status, health and metrics until all other tasks have ended            |

mod shutdown;
mod start;
mod training;
mod upload;

use tokio::sync::{mpsc, oneshot};
use vmafx_kit::health::Readiness;
use vmafx_kit::metrics::Metrics;
use vmafx_kit::serve::{listen, serve};
use vmafx_kit::tasks::{BoxError, TaskSet};
use vmafx_kit::tls::CertificateMetrics;
use vmafx_oci::Repository;

use self::start::StartingPointFinder;
use self::training::{SampleInput, Trainer};
use crate::checkpoint::{CheckpointPolicy, CheckpointRegistry};
use crate::learner::GateLimits;
use crate::settings::Settings;
use crate::source::SampleFollower;
use crate::status::{SharedStatus, TrainerMetrics, router};

/// Samples that wait for the learner. When the channel is full, flow control makes the controller wait.
const SAMPLE_CHANNEL_CAPACITY: usize = 1024;

pub async fn start(settings: Settings, tasks: &mut TaskSet) -> Result<(), BoxError> {
    let run = &settings.run;
    let client = CheckpointRegistry::client(&run.oci_plain_http)?;
    let registry = CheckpointRegistry {
        client,
        repository: Repository::parse(&run.output_registry)?,
        name: run.name.to_string(),
        uid: run.uid.clone(),
    };
    let status = SharedStatus::default();
    let mut metrics_registry = Metrics::new(env!("CARGO_PKG_VERSION"));
    let metrics = TrainerMetrics::new(&mut metrics_registry, &status);
    let readiness = Readiness::new(tasks.shutdown());
    let learning = readiness.gate("model", "looking for the base model and the latest checkpoint");
    let (items, received) = mpsc::channel(SAMPLE_CHANNEL_CAPACITY);
    let (position_sender, position) = oneshot::channel();

    // Everything that can fail comes before the first task starts.
    let channel = settings.channel.open(&settings.controller_addr)?;
    CertificateMetrics::new(&mut metrics_registry).channel(&channel);
    let listener = listen("VMAFX_TRAINER_STATUS_ADDR", &settings.status_addr).await?;

    let follower = SampleFollower {
        channel,
        selector: run.node_selector.0.clone(),
        connected: readiness.gate("controller", "the sample stream is not connected yet"),
        status: status.clone(),
        metrics: metrics.clone(),
    };
    tasks.service("samples", follower.run(position, items, tasks.shutdown()));
    let trainer = Trainer {
        finder: StartingPointFinder {
            registry,
            base_model: run.base_model.clone(),
            model_dir: run.model_dir.clone(),
            namespace: run.namespace.clone(),
            options: run.learner.options(),
        },
        policy: CheckpointPolicy {
            interval: run.checkpoint_interval.0,
            min_samples: run.checkpoint_min_samples,
        },
        limits: GateLimits {
            max_srocc_drop: run.gate_max_srocc_drop,
            max_rmse_ratio: run.gate_max_rmse_ratio,
        },
        graceful_shutdown: settings.graceful_shutdown.0,
        learning,
        status: status.clone(),
        metrics,
    };
    let input = SampleInput { position: position_sender, items: received };
    tasks.service("trainer", trainer.run(input, tasks.shutdown()));
    if let Some(listener) = listener {
        let router = router(status, readiness, metrics_registry);
        tasks.support("http", |last| serve(listener, router, last));
    }
    Ok(())
}
