//! The phases of jobs, in the order in which a watch delivers them.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::{Stream, StreamExt as _};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt as _};
use tokio::time::{Instant, timeout_at};
use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;

use super::verify::ObservedJob;

type Changes = Pin<Box<dyn Stream<Item = watcher::Result<Event<VmafxJob>>> + Send>>;

/// The observed phases of all jobs of a namespace. The watch is read only during [`PhaseHistory::until_ended`].
pub(super) struct PhaseHistory {
    jobs: BTreeMap<String, ObservedJob>,
    changes: Changes,
}

impl PhaseHistory {
    pub(super) fn open(jobs: Api<VmafxJob>) -> Self {
        let changes = watcher(jobs, watcher::Config::default()).default_backoff().boxed();
        Self { jobs: BTreeMap::new(), changes }
    }

    pub(super) fn jobs(&self) -> Vec<ObservedJob> {
        self.jobs.values().cloned().collect()
    }

    pub(super) fn ended_count(&self, batch: &str) -> usize {
        let ended = |job: &&ObservedJob| job.phases.last().is_some_and(|phase| phase.is_last());
        self.jobs.values().filter(|job| job.name.starts_with(batch)).filter(ended).count()
    }

    /// The names of the jobs that had a condition with this reason at any time.
    pub(super) fn with_reason(&self, reason: Reason) -> Vec<&str> {
        let had = |job: &&ObservedJob| job.reasons.contains(reason.as_str());
        self.jobs.values().filter(had).map(|job| job.name.as_str()).collect()
    }

    /// Waits until at least `count` jobs of a batch have ended.
    pub(super) async fn until_ended(&mut self, batch: &str, count: usize, timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        while self.ended_count(batch) < count {
            let Ok(change) = timeout_at(deadline, self.changes.next()).await else {
                let ended = self.ended_count(batch);
                bail!("only {ended} of {count} jobs of {batch} have ended within {timeout:?}");
            };
            // After an error the watch reconnects by itself.
            if let Ok(event) = change.context("the watch of jobs ended")? {
                self.apply(event);
            }
        }
        Ok(())
    }

    fn apply(&mut self, event: Event<VmafxJob>) {
        match event {
            Event::Apply(job) | Event::InitApply(job) => self.record(&job),
            Event::Delete(job) => drop(self.jobs.remove(&job.name_any())),
            Event::Init | Event::InitDone => {}
        }
    }

    pub(super) fn record(&mut self, job: &VmafxJob) {
        let status = job.status.clone().unwrap_or_default();
        let before = self.jobs.remove(&job.name_any()).map(|before| (before.phases, before.reasons));
        let (mut phases, mut reasons) = before.unwrap_or_default();
        reasons.extend(status.conditions.iter().map(|one| one.reason.clone()));
        phases.extend(status.phase.filter(|phase| phases.last() != Some(phase)));
        let failed = status.conditions.iter().find(|one| one.type_ == "Failed");
        let failed = failed.filter(|one| one.status == vmafx_api::ConditionStatus::True);
        let message = failed.map(|one| format!("{}: {}", one.reason, one.message)).or(status.message);
        let observed = ObservedJob {
            name: job.name_any(),
            uid: job.uid().unwrap_or_default(),
            phases,
            score: status.score,
            controller_job: status.controller_job_id,
            reasons,
            message: message.unwrap_or_default(),
        };
        self.jobs.insert(job.name_any(), observed);
    }
}

#[cfg(test)]
mod tests {
    use kube::Client;
    use serde_json::{Value, json};
    use vmafx_api::job::Phase;

    use super::*;

    fn job(status: &Value) -> VmafxJob {
        let object = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "kill-1", "uid": "u" },
            "spec": { "reference": "file:///a", "distorted": "file:///b" }, "status": status,
        });
        serde_json::from_value(object).unwrap()
    }

    fn history() -> PhaseHistory {
        let config = kube::Config::new("http://localhost:1".parse().unwrap());
        PhaseHistory::open(Api::default_namespaced(Client::try_from(config).unwrap()))
    }

    #[tokio::test]
    async fn a_reason_is_remembered_after_it_has_gone() {
        let mut history = history();
        for reason in ["ControllerUnreachable", "Queued"] {
            history.record(&job(&json!({ "phase": "Pending", "conditions": [
                { "type": "Accepted", "status": "True", "reason": reason, "message": "",
                  "lastTransitionTime": "2024-01-01T00:00:00Z" },
            ]})));
        }
        assert_eq!(history.with_reason(Reason::ControllerUnreachable), ["kill-1"]);
        assert!(history.with_reason(Reason::Forbidden).is_empty());
    }

    #[tokio::test]
    async fn phases_are_kept_in_order_and_once() {
        let mut history = history();
        for phase in ["Pending", "Pending", "Running", "Succeeded", "Running"] {
            history.record(&job(&json!({ "phase": phase })));
        }
        let phases = [Phase::Pending, Phase::Running, Phase::Succeeded, Phase::Running];
        assert_eq!(history.jobs()[0].phases, phases);
        assert_eq!(history.ended_count("kill"), 0);
        history.record(&job(&json!({ "phase": "Failed", "message": "m", "conditions": [
            { "type": "Failed", "status": "True", "reason": "NodeLost", "message": "gone",
              "lastTransitionTime": "2024-01-01T00:00:00Z" },
        ]})));
        assert_eq!((history.ended_count("kill"), history.ended_count("drain")), (1, 0));
        assert_eq!(history.jobs()[0].message, "NodeLost: gone");
    }
}
