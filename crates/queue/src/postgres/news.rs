//! What is told to those who wait, here and at other controllers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::TenantId;
use crate::job::Job;
use crate::notice::{Notice, Notices};
use crate::transition::State;

/// The channel of the server's notices.
pub(super) const CHANNEL: &str = "vmafx_jobs";

/// What one transaction did to one tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Jobs that can be claimed, by backend.
    pub(super) work: BTreeMap<String, u32>,
    pub(super) changed: bool,
    pub(super) sampled: bool,
}

impl News {
    /// Jobs as they are after a change.
    pub(super) fn of<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Self {
        let mut news = Self::default();
        jobs.into_iter().for_each(|job| news.add(job));
        news
    }

    /// A job changed.
    pub(super) fn add(&mut self, job: &Job) {
        self.changed = true;
        if job.state == State::Pending && job.available_at.is_none() {
            self.work(&job.scoring.backend, 1);
        }
    }

    /// So many more can be claimed.
    pub(super) fn work(&mut self, backend: &str, jobs: u32) {
        let known = self.work.entry(backend.to_owned()).or_default();
        *known = known.saturating_add(jobs);
    }

    /// Tells it here.
    pub(super) fn tell(self, notices: &Notices, tenant: &TenantId) {
        if self.changed {
            notices.tell(Notice::Changed { tenant: tenant.clone() });
        }
        for (backend, jobs) in self.work {
            notices.tell(Notice::Work { tenant: tenant.clone(), backend: backend.into(), jobs });
        }
        if self.sampled {
            notices.tell(Notice::Sampled { tenant: tenant.clone() });
        }
    }
}

/// What the server passes on; written by its function `vmafx.line`.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Message {
    /// Which store wrote it.
    pub(super) from: Option<String>,
    pub(super) tenant: String,
    pub(super) work: Option<BTreeMap<String, u32>>,
    /// There is work that did not fit into the message.
    pub(super) unsaid: bool,
    pub(super) changed: bool,
    pub(super) sampled: bool,
}

impl Message {
    pub(super) fn news(self) -> News {
        News { work: self.work.unwrap_or_default(), changed: self.changed, sampled: self.sampled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_the_server_is_understood() {
        let text = r#"{"from" : "a1", "tenant" : "acme", "work" : { "cpu" : 2, "" : 1 }, "unsaid" : false, "changed" : true, "sampled" : false}"#;
        let message: Message = serde_json::from_str(text).unwrap();
        assert_eq!(message.from.as_deref(), Some("a1"));
        let work = BTreeMap::from([("cpu".to_owned(), 2), (String::new(), 1)]);
        assert_eq!(message.news(), News { work, changed: true, sampled: false });
    }
}
