//! Tells the other controllers what this one did.
//!
//! After the commit: a notice in the same transaction would make every commit wait for the disk one after the other,
//! since the server sends notices in the order of commits. Transactions that follow each other closely share a notice,
//! because one costs the server as much as a small transaction. Who dies in between has told nobody; so every controller
//! looks for itself now and then.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::Shared;
use super::news::{Message, News};
use crate::ids::TenantId;

/// Least time between two notices.
const PAUSE: Duration = Duration::from_millis(5);
/// Before a notice that could not be sent is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// What is to be told, by tenant.
pub(super) type AllNews = BTreeMap<TenantId, News>;

/// What the others do not know yet.
#[derive(Debug, Default)]
pub(super) struct Announcer {
    unsaid: Mutex<AllNews>,
    some: Notify,
}

impl Announcer {
    fn add(&self, all: impl IntoIterator<Item = (TenantId, News)>) {
        let mut unsaid = self.unsaid.lock().unwrap_or_else(PoisonError::into_inner);
        for (tenant, news) in all {
            unsaid.entry(tenant).or_default().merge(news);
        }
        self.some.notify_one();
    }

    fn take(&self) -> AllNews {
        take(&mut *self.unsaid.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    /// Tells everybody who waits, here and at the other controllers.
    pub(super) fn tell(&self, tenant: &TenantId, news: News) {
        if news.is_none() {
            return;
        }
        self.announcer.add([(tenant.clone(), news.clone())]);
        news.tell(&self.notices, tenant);
    }

    /// Tells the others, for as long as it is polled.
    pub(super) async fn announce(&self) {
        let mut well = true;
        loop {
            self.announcer.some.notified().await;
            let said = self.say().await;
            if let Err(error) = &said
                && well
            {
                tracing::warn!(error = error.to_string(), "other controllers are not told; trying again");
            }
            well = said.is_ok();
            sleep(if well { PAUSE } else { AGAIN }).await;
        }
    }

    /// Says what is unsaid; what cannot be said stays.
    pub(super) async fn say(&self) -> Result<(), crate::store::StoreError> {
        let news = self.announcer.take();
        if news.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> =
            news.iter().map(|(tenant, news)| Message::write(&self.instance, tenant, news)).collect();
        let said = self.connections.notify(&lines).await;
        if said.is_err() {
            self.announcer.add(news);
        }
        said
    }
}
