//! From settings to a trainer that learns.
//!
//! | task       | does                                                                                              |
//! |------------|---------------------------------------------------------------------------------------------------|
//! | `samples`  | follows the controller's stream, as fast as the learner takes it                                  |
//! | `trainer`  | finds where to begin, then learns and takes checkpoints               |
//! | `http`     | answers how it is, until the last of the others has ended                                         |

mod learn;
mod leave;
mod prepare;
mod send;

use tokio::sync::{mpsc, oneshot};
use vmafx_kit::health::Readiness;
use vmafx_kit::metrics::Metrics;
use vmafx_kit::serve::{listen, serve};
use vmafx_kit::tasks::{BoxError, TaskSet};
use vmafx_oci::Repository;

use self::learn::{Inputs, Trainer};
use self::prepare::Preparation;
use crate::checkpoint::{Policy, Registry};
use crate::learner::GateLimits;
use crate::settings::Settings;
use crate::source::Follow;
use crate::status::{Board, TrainerMetrics, router};

/// Samples of the stream that wait for the learner; the controller waits when they are so many.
const WAITING: usize = 1024;

/// Adds the tasks.
pub async fn start(settings: Settings, tasks: &mut TaskSet) -> Result<(), BoxError> {
    let run = &settings.run;
    let client = Registry::client(&run.oci_plain_http)?;
    let registry = Registry {
        client,
        repository: Repository::parse(&run.output_registry)?,
        name: run.name.to_string(),
        uid: run.uid.clone(),
    };
    let board = Board::default();
    let mut counted = Metrics::new(env!("CARGO_PKG_VERSION"));
    let metrics = TrainerMetrics::new(&mut counted, &board);
    let readiness = Readiness::new(tasks.shutdown());
    let learning = readiness.gate("model", "looking for the base model and the last checkpoint");
    let (items, streamed) = mpsc::channel(WAITING);
    let (begin, place) = oneshot::channel();

    // Everything that can refuse to start does so before anything is begun.
    let channel = settings.channel.open(&settings.controller_addr)?;
    let listener = listen("VMAFX_TRAINER_STATUS_ADDR", &settings.status_addr).await?;

    let follow = Follow {
        channel,
        selector: run.node_selector.0.clone(),
        connected: readiness.gate("controller", "no samples were asked for yet"),
        board: board.clone(),
        metrics: metrics.clone(),
    };
    tasks.service("samples", follow.run(place, items, tasks.shutdown()));
    let trainer = Trainer {
        preparation: Preparation {
            registry,
            base_model: run.base_model.clone(),
            model_dir: run.model_dir.clone(),
            namespace: run.namespace.clone(),
            options: run.learner.options(),
        },
        policy: Policy { interval: run.checkpoint_interval.0, min_samples: run.checkpoint_min_samples },
        limits: GateLimits {
            max_srocc_drop: run.gate_max_srocc_drop,
            max_rmse_ratio: run.gate_max_rmse_ratio,
        },
        grace: settings.graceful_shutdown.0,
        learning,
        board: board.clone(),
        metrics,
    };
    let inputs = Inputs { begin, streamed };
    tasks.service("trainer", trainer.run(inputs, tasks.shutdown()));
    if let Some(listener) = listener {
        let router = router(board, readiness, counted);
        tasks.support("http", |last| serve(listener, router, last));
    }
    Ok(())
}
