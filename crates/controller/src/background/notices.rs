//! Passes on what the store tells.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::time::MissedTickBehavior;
use vmafx_kit::tasks::Shutdown;

use crate::service::Service;

/// How often somebody looks although nothing was told. Work that another controller was cut off from telling is found
/// after this long.
const LOOK: Duration = Duration::from_secs(5);

pub(super) async fn run(service: Service, shutdown: Shutdown) -> Result<(), Infallible> {
    // Heard from before the first look, so that nothing falls between.
    let mut notices = service.store().notifications();
    service.dispatch().look();
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let pauses = service.dispatch().watch_pauses();
    tokio::pin!(pauses);
    let mut stop = std::pin::pin!(shutdown.begun());
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            heard = notices.recv() => match heard {
                Ok(notice) => {
                    service.dispatch().hear(&notice);
                    service.live().hear(&notice);
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::debug!(missed, "the store told more than was heard: everybody looks");
                    service.dispatch().look();
                    service.live().look();
                }
                Err(RecvError::Closed) => {
                    // The store is closed, and so is the shutdown's last page.
                    stop.as_mut().await;
                    return Ok(());
                }
            },
            _ = look.tick() => service.dispatch().look(),
            never = &mut pauses => match never {},
        }
    }
}
