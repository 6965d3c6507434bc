//! Changes of one tenant, as they are sent to local subscribers and to other controllers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::ids::TenantId;
use crate::job::Job;
use crate::notification::{Notification, Notifier};
use crate::transition::State;

/// The Postgres notification channel.
pub(super) const CHANNEL: &str = "vmafx_jobs";

/// The changes that one or several transactions made to one tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TenantChanges {
    /// Number of claimable jobs by backend.
    pub(super) work: BTreeMap<String, u32>,
    pub(super) changed: bool,
    pub(super) sampled: bool,
}

impl TenantChanges {
    /// Makes subscribers read both feeds.
    pub(super) const ALL_FEEDS: Self = Self { work: BTreeMap::new(), changed: true, sampled: true };

    /// Summarizes jobs in their state after a change.
    pub(super) fn of<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Self {
        let mut changes = Self::default();
        jobs.into_iter().for_each(|job| changes.add(job));
        changes
    }

    pub(super) fn add(&mut self, job: &Job) {
        self.changed = true;
        if job.state == State::Pending && job.available_at.is_none() {
            self.work(job.scoring.backend_name(), 1);
        }
    }

    pub(super) fn work(&mut self, backend: &str, jobs: u32) {
        let count = self.work.entry(backend.to_owned()).or_default();
        *count = count.saturating_add(jobs);
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn merge(&mut self, more: Self) {
        self.changed |= more.changed;
        self.sampled |= more.sampled;
        for (backend, jobs) in more.work {
            self.work(&backend, jobs);
        }
    }

    pub(super) fn send_to(self, notifier: &Notifier, tenant: &TenantId) {
        if self.changed {
            notifier.notify(Notification::Changed { tenant: tenant.clone() });
        }
        for (backend, jobs) in self.work {
            notifier.notify(Notification::Work { tenant: tenant.clone(), backend: backend.into(), jobs });
        }
        if self.sampled {
            notifier.notify(Notification::Sampled { tenant: tenant.clone() });
        }
    }
}

/// Leaves room for the other fields: Postgres limits a notification to 8000 bytes.
const MAX_WORK_BYTES: usize = 6000;

/// The JSON of an announcement. Controllers of other versions read it, so its fields never change.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangeMessage {
    /// The controller that sent the message.
    pub(super) from: Option<String>,
    pub(super) tenant: String,
    pub(super) work: Option<BTreeMap<String, u32>>,
    /// The message leaves the claimable jobs out, because there are too many backends; the receiver queries them.
    #[serde(rename = "unsaid")]
    pub(super) work_omitted: bool,
    pub(super) changed: bool,
    pub(super) sampled: bool,
}

impl ChangeMessage {
    pub(super) fn write(from: &str, tenant: &TenantId, changes: &TenantChanges) -> String {
        let length: usize = changes.work.keys().map(|backend| json!(backend).to_string().len() + 12).sum();
        let work_omitted = length > MAX_WORK_BYTES;
        json!(Self {
            from: Some(from.to_owned()),
            tenant: tenant.to_string(),
            work: (!work_omitted && length > 0).then(|| changes.work.clone()),
            work_omitted,
            changed: changes.changed,
            sampled: changes.sampled,
        })
        .to_string()
    }

    pub(super) fn changes(self) -> TenantChanges {
        TenantChanges { work: self.work.unwrap_or_default(), changed: self.changed, sampled: self.sampled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(changes: &TenantChanges) -> ChangeMessage {
        let text = ChangeMessage::write("a1", &TenantId::new("acme").unwrap(), changes);
        assert!(text.len() < 8000, "{}", text.len());
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_written_message_can_be_read() {
        let work = BTreeMap::from([("cpu".to_owned(), 2), (String::new(), 1)]);
        let changes = TenantChanges { work, changed: true, sampled: false };
        let message = round_trip(&changes);
        assert_eq!((message.from.as_deref(), message.tenant.as_str()), (Some("a1"), "acme"));
        assert!(!message.work_omitted);
        assert_eq!(message.changes(), changes);
    }

    #[test]
    fn claimable_jobs_that_do_not_fit_are_left_out() {
        let mut changes = TenantChanges::default();
        (0..400).for_each(|number| {
            changes.work(&format!("a backend with \u{1} and a number {number}"), u32::MAX);
        });
        let message = round_trip(&changes);
        assert!(message.work_omitted);
        assert_eq!(message.work, None);
    }

    #[test]
    fn changes_that_are_announced_together_are_merged() {
        let mut changes = TenantChanges { changed: true, ..TenantChanges::default() };
        changes.work("cpu", 2);
        let mut more = TenantChanges { sampled: true, ..TenantChanges::default() };
        more.work("cpu", 1);
        more.work("cuda", 1);
        changes.merge(more);
        let work = BTreeMap::from([("cpu".to_owned(), 3), ("cuda".to_owned(), 1)]);
        assert_eq!(changes, TenantChanges { work, changed: true, sampled: true });
    }
}
