//! Reads which tenants have unfinished jobs, for shared pools.
//!
//! Between two reads the notifications of the store name the tenants with new work. A read finds those whose notification
//! was lost, and ends the memory of those that have none any more.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};
use vmafx_kit::tasks::Shutdown;

use super::ROUND_TIMEOUT;
use crate::service::Service;

const READ_INTERVAL: Duration = Duration::from_secs(5);

pub(super) async fn run(service: Service, shutdown: Shutdown) -> Result<(), Infallible> {
    let mut rounds = interval(READ_INTERVAL);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shutdown.run_until_begun(rounds.tick()).await.is_some() {
        let stats = shutdown.run_until_begun(timeout(ROUND_TIMEOUT, service.store().stats())).await;
        let problem: &dyn std::error::Error = match &stats {
            None => return Ok(()),
            Some(Ok(Ok(stats))) => {
                let unfinished = stats.iter().filter(|tenant| tenant.pending + tenant.running > 0);
                let unfinished = unfinished.map(|tenant| (tenant.tenant.clone(), tenant.pending > 0));
                service.dispatch().refresh_tenants(unfinished.collect());
                continue;
            }
            Some(Ok(Err(error))) => error,
            Some(Err(elapsed)) => elapsed,
        };
        tracing::warn!(error = problem, "cannot read which tenants have jobs; the next round tries again");
    }
    Ok(())
}
