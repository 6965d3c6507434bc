//! What goes on without being asked: hearing what the store tells, ending what ran out, removing what is old.

mod notices;
mod prune;
mod sweep;

use std::time::Duration;

use vmafx_kit::tasks::TaskSet;
use vmafx_queue::store::Retention;

use crate::service::Service;

/// A round that takes longer is given up, and the next one tries again.
const PATIENCE: Duration = Duration::from_secs(30);

/// Adds the three tasks. They stop when shutdown begins; none of them stops because the store fails.
pub fn run(service: &Service, keep: Retention, prune_interval: Duration, tasks: &mut TaskSet) {
    tasks.service("notices", notices::run(service.clone(), tasks.shutdown()));
    tasks.service("sweep", sweep::run(service.clone(), tasks.shutdown()));
    tasks.service("prune", prune::run(service.clone(), keep, prune_interval, tasks.shutdown()));
}
