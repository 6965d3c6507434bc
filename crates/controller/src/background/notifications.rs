//! Forwards notifications of the store to waiting pulls and streams.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::time::MissedTickBehavior;
use vmafx_kit::tasks::Shutdown;

use crate::service::Service;

/// Finds work whose notification from another controller was lost.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

pub(super) async fn run(service: Service, shutdown: Shutdown) -> Result<(), Infallible> {
    // Subscribing before the first look at the queue leaves no gap.
    let mut notifications = service.store().notifications();
    service.dispatch().wake_every_class();
    let mut polls = tokio::time::interval(POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let pauses = service.dispatch().wake_when_due();
    tokio::pin!(pauses);
    let mut stop = std::pin::pin!(shutdown.begun());
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            received = notifications.recv() => match received {
                Ok(notification) => {
                    service.dispatch().notify(&notification);
                    service.subscriptions().publish(&notification);
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::debug!(missed, "missed notifications of the store: waking all waiting calls");
                    service.dispatch().wake_every_class();
                    service.subscriptions().notify_all();
                }
                Err(RecvError::Closed) => {
                    // The store closes only during shutdown.
                    stop.as_mut().await;
                    return Ok(());
                }
            },
            _ = polls.tick() => service.dispatch().wake_every_class(),
            never = &mut pauses => match never {},
        }
    }
}
