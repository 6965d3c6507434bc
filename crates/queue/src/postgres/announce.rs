//! Announces the changes of this controller to the other ones.
//!
//! Announcements are sent after the commit, because the server delivers notifications in commit order and would
//! serialize the disk syncs of all transactions that contain one. Transactions that follow each other closely share
//! an announcement, because it costs the server as much as a small transaction. A controller that dies between
//! commit and announcement has announced nothing, so every controller also polls for work.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::Shared;
use super::tenant_changes::{ChangeMessage, TenantChanges};
use crate::ids::TenantId;

/// Minimum time between two announcements.
const MIN_INTERVAL: Duration = Duration::from_millis(5);
const RETRY_DELAY: Duration = Duration::from_millis(500);

pub(super) type ChangesByTenant = BTreeMap<TenantId, TenantChanges>;

/// Changes that have not been announced yet.
#[derive(Debug, Default)]
pub(super) struct Announcer {
    pending: Mutex<ChangesByTenant>,
    added: Notify,
}

impl Announcer {
    fn add(&self, all: impl IntoIterator<Item = (TenantId, TenantChanges)>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        for (tenant, changes) in all {
            pending.entry(tenant).or_default().merge(changes);
        }
        self.added.notify_one();
    }

    fn take(&self) -> ChangesByTenant {
        take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    /// Notifies the subscribers of this store and, through an announcement, those of the other controllers.
    pub(super) fn notify(&self, tenant: &TenantId, changes: TenantChanges) {
        if changes.is_empty() {
            return;
        }
        self.announcer.add([(tenant.clone(), changes.clone())]);
        changes.send_to(&self.notifier, tenant);
    }

    /// Sends announcements until it is dropped.
    pub(super) async fn announce(&self) {
        let mut healthy = true;
        loop {
            self.announcer.added.notified().await;
            let sent = self.flush_announcements().await;
            if let Err(error) = &sent
                && healthy
            {
                tracing::warn!(
                    error = error.to_string(),
                    "cannot announce changes to other controllers; retrying"
                );
            }
            healthy = sent.is_ok();
            sleep(if healthy { MIN_INTERVAL } else { RETRY_DELAY }).await;
        }
    }

    /// Sends the pending announcements; on an error they stay pending.
    pub(super) async fn flush_announcements(&self) -> Result<(), crate::store::StoreError> {
        let changes = self.announcer.take();
        if changes.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = changes
            .iter()
            .map(|(tenant, changes)| ChangeMessage::write(&self.instance, tenant, changes))
            .collect();
        let sent = self.connections.notify(&lines).await;
        if sent.is_err() {
            self.announcer.add(changes);
        }
        sent
    }
}
