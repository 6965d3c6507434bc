//! Background tasks: forwarding notifications of the store, ending expired leases, pruning, tenants of shared
//! pools.

mod notifications;
mod prune;
mod sweep;
mod tenants;

use std::time::Duration;

use vmafx_kit::tasks::TaskSet;
use vmafx_queue::store::Retention;

use crate::service::Service;

/// A longer round is aborted, and the next one tries again.
const ROUND_TIMEOUT: Duration = Duration::from_secs(30);

/// The tasks stop when shutdown begins. Errors of the store do not stop them.
pub fn run(service: &Service, retention: Retention, prune_interval: Duration, tasks: &mut TaskSet) {
    tasks.service("notifications", notifications::run(service.clone(), tasks.shutdown()));
    if service.has_pools() {
        tasks.service("tenants", tenants::run(service.clone(), tasks.shutdown()));
    }
    tasks.service("sweep", sweep::run(service.clone(), tasks.shutdown()));
    tasks.service("prune", prune::run(service.clone(), retention, prune_interval, tasks.shutdown()));
}
