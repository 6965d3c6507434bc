//! Ends leases, sessions and deadlines that ran out.

use std::convert::Infallible;

use tokio::time::{MissedTickBehavior, interval, timeout};
use vmafx_kit::tasks::Shutdown;
use vmafx_queue::store::Swept;

use super::PATIENCE;
use crate::metrics::Requeued;
use crate::service::Service;

pub(super) async fn run(service: Service, shutdown: Shutdown) -> Result<(), Infallible> {
    let mut rounds = interval(service.policy().sweep_interval);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shutdown.run_until_begun(rounds.tick()).await.is_some() {
        // A round is not cut short: what it ended must be counted.
        sweep(&service).await;
    }
    Ok(())
}

/// One round.
pub(crate) async fn sweep(service: &Service) {
    let round = timeout(PATIENCE, service.store().sweep()).await;
    let problem: &dyn std::error::Error = match &round {
        Ok(Ok(swept)) => return told(service, swept),
        Ok(Err(error)) => error,
        Err(late) => late,
    };
    service.metrics().sweep_errors.inc();
    tracing::warn!(error = problem, "cannot sweep; trying again");
}

fn told(service: &Service, swept: &Swept) {
    // The first round after a start always does; later it means that this process or its store was stuck.
    if swept.renewed {
        tracing::info!("the sweep was away: every lease and session has its full time again");
    }
    for job in &swept.requeued {
        service.metrics().requeued(Requeued::NodeLost);
        let (attempt, lost) = (job.attempt, job.lost_attempts);
        tracing::info!(job = %job.id, tenant = %job.tenant, attempt, lost, "the node was lost: the job waits again");
        if let Some(at) = job.available_at {
            service.dispatch().expect(&job.tenant, job.scoring.backend_name(), at);
        }
    }
    for job in &swept.failed {
        tracing::info!(job = %job.id, tenant = %job.tenant, error = job.error, "the job failed");
        service.ended(job);
    }
    for (tenant, node) in &swept.evicted {
        tracing::info!(%tenant, node, "the node's session ended");
    }
}
