//! Polls the store for the readiness probe.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};
use vmafx_kit::health::Readiness;
use vmafx_kit::tasks::Shutdown;
use vmafx_queue::Store;

const POLL_INTERVAL: Duration = Duration::from_secs(5);
const READY_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) async fn watch(
    store: Arc<dyn Store>,
    readiness: Readiness,
    shutdown: Shutdown,
) -> Result<(), Infallible> {
    let gate = readiness.gate("store", "not checked yet");
    let mut polls = interval(POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shutdown.run_until_begun(polls.tick()).await.is_some() {
        let Some(answer) = shutdown.run_until_begun(timeout(READY_TIMEOUT, store.ready())).await else {
            break;
        };
        match answer {
            // A full store still takes the reports of nodes, so they must not be sent elsewhere.
            Ok(Ok(())) if store.is_full() => gate.open_with_note("full: new jobs are refused"),
            Ok(Ok(())) => gate.open(),
            // The causes may name hosts, so only the log has them; `/readyz` shows the summary.
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the store is not ready");
                gate.close(error.to_string());
            }
            Err(_) => gate.close(format!("did not answer within {READY_TIMEOUT:?}")),
        }
    }
    Ok(())
}
