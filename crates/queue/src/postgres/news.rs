//! What is told to those who wait, here and at other controllers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

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
            self.work(job.scoring.backend_name(), 1);
        }
    }

    /// So many more can be claimed.
    pub(super) fn work(&mut self, backend: &str, jobs: u32) {
        let known = self.work.entry(backend.to_owned()).or_default();
        *known = known.saturating_add(jobs);
    }

    /// Nothing.
    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// And this.
    pub(super) fn merge(&mut self, more: Self) {
        self.changed |= more.changed;
        self.sampled |= more.sampled;
        for (backend, jobs) in more.work {
            self.work(&backend, jobs);
        }
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

/// The server passes on no more than 8000 bytes.
const LONGEST_WORK: usize = 6000;

/// What the server passes on.
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
    /// What one controller says of one tenant.
    pub(super) fn write(from: &str, tenant: &TenantId, news: &News) -> String {
        let length: usize = news.work.keys().map(|backend| json!(backend).to_string().len() + 12).sum();
        let unsaid = length > LONGEST_WORK;
        json!(Self {
            from: Some(from.to_owned()),
            tenant: tenant.to_string(),
            work: (!unsaid && length > 0).then(|| news.work.clone()),
            unsaid,
            changed: news.changed,
            sampled: news.sampled,
        })
        .to_string()
    }

    pub(super) fn news(self) -> News {
        News { work: self.work.unwrap_or_default(), changed: self.changed, sampled: self.sampled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed_on(news: &News) -> Message {
        let text = Message::write("a1", &TenantId::new("acme").unwrap(), news);
        assert!(text.len() < 8000, "{}", text.len());
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn what_is_passed_on_is_understood() {
        let work = BTreeMap::from([("cpu".to_owned(), 2), (String::new(), 1)]);
        let news = News { work, changed: true, sampled: false };
        let message = passed_on(&news);
        assert_eq!((message.from.as_deref(), message.tenant.as_str()), (Some("a1"), "acme"));
        assert!(!message.unsaid);
        assert_eq!(message.news(), news);
    }

    #[test]
    fn work_that_is_too_long_to_pass_on_is_left_to_be_looked_for() {
        let mut news = News::default();
        (0..400)
            .for_each(|number| news.work(&format!("a backend with \u{1} and a number {number}"), u32::MAX));
        let message = passed_on(&news);
        assert!(message.unsaid);
        assert_eq!(message.work, None);
    }

    #[test]
    fn news_that_are_passed_on_together_are_one() {
        let mut news = News { changed: true, ..News::default() };
        news.work("cpu", 2);
        let mut more = News { sampled: true, ..News::default() };
        more.work("cpu", 1);
        more.work("cuda", 1);
        news.merge(more);
        let work = BTreeMap::from([("cpu".to_owned(), 3), ("cuda".to_owned(), 1)]);
        assert_eq!(news, News { work, changed: true, sampled: true });
    }
}
