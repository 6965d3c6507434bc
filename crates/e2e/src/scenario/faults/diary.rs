//! Where jobs were seen to stand, in order.

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

use super::account::Resource;

type Changes = Pin<Box<dyn Stream<Item = watcher::Result<Event<VmafxJob>>> + Send>>;

/// Follows all jobs of a namespace, while somebody waits for something.
pub(super) struct Diary {
    jobs: BTreeMap<String, Resource>,
    changes: Changes,
}

impl Diary {
    /// Begins with what is there.
    pub(super) fn open(jobs: Api<VmafxJob>) -> Self {
        let changes = watcher(jobs, watcher::Config::default()).default_backoff().boxed();
        Self { jobs: BTreeMap::new(), changes }
    }

    /// What was seen so far.
    pub(super) fn jobs(&self) -> Vec<Resource> {
        self.jobs.values().cloned().collect()
    }

    /// How many jobs of a batch have ended.
    pub(super) fn over(&self, batch: &str) -> usize {
        let ended = |job: &&Resource| job.phases.last().is_some_and(|phase| phase.is_last());
        self.jobs.values().filter(|job| job.name.starts_with(batch)).filter(ended).count()
    }

    /// Waits until so many jobs of a batch have ended.
    pub(super) async fn until_over(&mut self, batch: &str, wanted: usize, patience: Duration) -> Result<()> {
        let end = Instant::now() + patience;
        while self.over(batch) < wanted {
            let Ok(change) = timeout_at(end, self.changes.next()).await else {
                let over = self.over(batch);
                bail!("after {patience:?} only {over} of {wanted} jobs of {batch} have ended");
            };
            // An error is a connection that broke; the stream begins anew.
            if let Ok(event) = change.context("the watch of jobs has ended")? {
                self.note(event);
            }
        }
        Ok(())
    }

    fn note(&mut self, event: Event<VmafxJob>) {
        match event {
            Event::Apply(job) | Event::InitApply(job) => self.see(&job),
            Event::Delete(job) => drop(self.jobs.remove(&job.name_any())),
            Event::Init | Event::InitDone => {}
        }
    }

    /// Notes where a job stands.
    pub(super) fn see(&mut self, job: &VmafxJob) {
        let status = job.status.clone().unwrap_or_default();
        let mut phases = self.jobs.remove(&job.name_any()).map(|known| known.phases).unwrap_or_default();
        phases.extend(status.phase.filter(|phase| phases.last() != Some(phase)));
        let failed = status.conditions.iter().find(|one| one.type_ == "Failed");
        let failed = failed.filter(|one| one.status == vmafx_api::ConditionStatus::True);
        let said = failed.map(|one| format!("{}: {}", one.reason, one.message)).or(status.message);
        let seen = Resource {
            name: job.name_any(),
            uid: job.uid().unwrap_or_default(),
            phases,
            score: status.score,
            controller_job: status.controller_job_id,
            said: said.unwrap_or_default(),
        };
        self.jobs.insert(job.name_any(), seen);
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

    fn diary() -> Diary {
        let config = kube::Config::new("http://localhost:1".parse().unwrap());
        Diary::open(Api::default_namespaced(Client::try_from(config).unwrap()))
    }

    #[tokio::test]
    async fn phases_are_kept_in_order_and_once() {
        let mut diary = diary();
        for phase in ["Pending", "Pending", "Running", "Succeeded", "Running"] {
            diary.see(&job(&json!({ "phase": phase })));
        }
        let phases = [Phase::Pending, Phase::Running, Phase::Succeeded, Phase::Running];
        assert_eq!(diary.jobs()[0].phases, phases);
        assert_eq!(diary.over("kill"), 0);
        diary.see(&job(&json!({ "phase": "Failed", "message": "m", "conditions": [
            { "type": "Failed", "status": "True", "reason": "NodeLost", "message": "gone",
              "lastTransitionTime": "2024-01-01T00:00:00Z" },
        ]})));
        assert_eq!((diary.over("kill"), diary.over("drain")), (1, 0));
        assert_eq!(diary.jobs()[0].said, "NodeLost: gone");
    }
}
