//! Polls the store for the readiness probe, and for the signal that the controller cannot serve.
//!
//! | the store                      | ready | calls                                                               |
//! |--------------------------------|-------|---------------------------------------------------------------------|
//! | answers                        | yes   | are served                                                          |
//! | does not answer, or with errors| no    | are refused, and clients are asked to leave                         |
//! | refuses, for another reason    | no    | are served: some may succeed, and another controller has no other store |

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};
use vmafx_kit::health::{Readiness, ServingSignal};
use vmafx_kit::tasks::Shutdown;
use vmafx_queue::{Store, StoreError, StoreResult};

/// With the timeout, the longest time in which a lost store is not noticed. A node keeps its lease for much longer.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
const READY_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreHealth {
    Usable,
    Unreachable,
    /// The store answers, and cannot be used as it is.
    Refusing,
}

impl StoreHealth {
    /// `None`: the store did not answer in time.
    fn of(answer: Option<&StoreResult<()>>) -> Self {
        match answer {
            Some(Ok(())) => Self::Usable,
            None | Some(Err(StoreError::Unavailable(_) | StoreError::Closed)) => Self::Unreachable,
            Some(Err(_)) => Self::Refusing,
        }
    }
}

pub(super) async fn watch(
    store: Arc<dyn Store>,
    readiness: Readiness,
    serving: ServingSignal,
    shutdown: Shutdown,
) -> Result<(), Infallible> {
    let gate = readiness.gate("store", "not checked yet");
    let mut polls = interval(POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shutdown.run_until_begun(polls.tick()).await.is_some() {
        let Some(answer) = shutdown.run_until_begun(timeout(READY_TIMEOUT, store.ready())).await else {
            break;
        };
        serving.set(StoreHealth::of(answer.as_ref().ok()) != StoreHealth::Unreachable);
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::answers(Some(Ok(())), StoreHealth::Usable)]
    #[case::silent(None, StoreHealth::Unreachable)]
    #[case::away(Some(Err(StoreError::Unavailable("connection refused".into()))), StoreHealth::Unreachable)]
    #[case::closed(Some(Err(StoreError::Closed)), StoreHealth::Unreachable)]
    #[case::of_a_newer_version(
        Some(Err(StoreError::Schema { found: 9, needed: 8, remedy: "upgrade" })),
        StoreHealth::Refusing
    )]
    #[case::damaged(Some(Err(StoreError::Corrupt { what: "a row".into() })), StoreHealth::Refusing)]
    fn only_a_store_that_cannot_be_reached_stops_the_service(
        #[case] answer: Option<StoreResult<()>>,
        #[case] expected: StoreHealth,
    ) {
        assert_eq!(StoreHealth::of(answer.as_ref()), expected);
    }
}
