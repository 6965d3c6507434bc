//! Operations of a node.

use vmafx_job::FailureReason;
use vmafx_queue::job::Progress;
use vmafx_queue::node::{Heartbeat, Report};
use vmafx_queue::store::Claim;

use super::{Caller, Mismatch, Runner};
use crate::model::op::{AttemptChoice, Op};
use crate::support::build::score;

/// Reasons that count against the node are the most frequent, so that nodes are quarantined.
const REASONS: [FailureReason; 6] = [
    FailureReason::OutOfMemory,
    FailureReason::OutOfMemory,
    FailureReason::InputMissingOnNode,
    FailureReason::InputMissingOnNode,
    FailureReason::SourceUnreachable,
    FailureReason::OptionsInvalid,
];

impl Runner {
    pub(super) async fn node_step(&mut self, op: &Op, it: Caller) -> Result<(), Mismatch> {
        let (store, now, limits) = (self.store.clone(), self.now(), self.limits);
        match op {
            Op::Heartbeat { named, progress, .. } => {
                let mut running: Vec<_> = named.iter().map(|pick| self.pick(*pick, Some(it.index))).collect();
                running.sort_unstable();
                running.dedup();
                let with_progress = |(which, done): (AttemptChoice, u64)| {
                    let progress = Progress { done, total: 9 };
                    running.iter().map(|id| (*id, self.attempt(which, *id).unwrap_or(1), progress)).collect()
                };
                let heartbeat =
                    Heartbeat { progress: progress.map(with_progress).unwrap_or_default(), running };
                let model = self.model.heartbeat(now, &it.whose, &it.who, &heartbeat);
                self.compare(store.heartbeat(&it.whose, &it.who, heartbeat).await.unwrap(), model)
            }
            Op::Claim { .. } => {
                let model = self.model.claim(now, &it.whose, &it.who, &it.backends, None, &limits);
                self.compare(
                    store.claim(&it.whose, &it.who, &it.backends, None, &limits).await.unwrap(),
                    model,
                )
            }
            Op::Report { job, attempt, score: value, reason, .. } => {
                let job = self.pick(*job, Some(it.index));
                let result = value
                    .map(|value| score(f64::from(value)))
                    .ok_or_else(|| (REASONS[usize::from(*reason)], "no score".to_owned()));
                let report = Report { job, attempt: self.attempt(*attempt, job), result };
                let model = self.model.report(now, &it.whose, &it.who, report.clone());
                self.compare(store.report(&it.whose, &it.who, report).await.unwrap(), model)
            }
            Op::FailInARow { reason, count, later, .. } => {
                if *later {
                    self.clock.advance(self.policy.backoff_base);
                }
                let now = self.now();
                for _ in 0..*count {
                    let model = self.model.claim(now, &it.whose, &it.who, &it.backends, None, &limits);
                    let claim = store.claim(&it.whose, &it.who, &it.backends, None, &limits).await.unwrap();
                    self.compare(claim, model.clone())?;
                    let Claim::Job(job) = model else { break };
                    let result = Err((REASONS[usize::from(*reason)], "no score".to_owned()));
                    let report = Report { job: job.id, attempt: Some(job.attempt), result };
                    let model = self.model.report(now, &it.whose, &it.who, report.clone());
                    self.compare(store.report(&it.whose, &it.who, report).await.unwrap(), model)?;
                }
                Ok(())
            }
            Op::Release { job, attempt, .. } => {
                let job = self.pick(*job, Some(it.index));
                let attempt = self.attempt(*attempt, job).unwrap_or(0);
                let model = self.model.release(now, &it.whose, &it.who, job, attempt, "leaving");
                self.compare(store.release(&it.whose, &it.who, job, attempt, "leaving").await.unwrap(), model)
            }
            _ => Ok(()),
        }
    }
}
