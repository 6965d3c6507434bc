//! Whether the store can be used, looked at again and again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};
use vmafx_kit::health::Readiness;
use vmafx_kit::tasks::Shutdown;
use vmafx_queue::Store;

const EVERY: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(3);

/// Opens and closes the gate `store` until shutdown.
pub(super) async fn watch(
    store: Arc<dyn Store>,
    readiness: Readiness,
    shutdown: Shutdown,
) -> Result<(), Infallible> {
    let gate = readiness.gate("store", "was not asked yet");
    let mut looks = interval(EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shutdown.run_until_begun(looks.tick()).await.is_some() {
        let Some(answer) = shutdown.run_until_begun(timeout(PATIENCE, store.ready())).await else { break };
        match answer {
            Ok(Ok(())) => gate.open(),
            // The chain of causes may name hosts; it is for the log, the page has the summary.
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the store is not ready");
                gate.close(error.to_string());
            }
            Err(_) => gate.close(format!("did not answer within {PATIENCE:?}")),
        }
    }
    Ok(())
}
