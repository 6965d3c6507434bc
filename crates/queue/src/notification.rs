//! Notifications to subscribers of a store.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::ids::TenantId;

/// A hint that something durable changed. It carries no state: a subscriber reads the store, and one that lagged
/// behind reads everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// Jobs of this tenant and backend can be claimed; an empty backend means that any node may claim them.
    Work {
        tenant: TenantId,
        backend: Arc<str>,
        jobs: u32,
    },
    Changed {
        tenant: TenantId,
    },
    Sampled {
        tenant: TenantId,
    },
}

/// Notifications buffered for a slow subscriber before its receiver reports that it lagged.
const BUFFERED: usize = 4096;

/// The sending side of a store's notifications.
#[derive(Clone, Debug)]
pub struct Notifier(broadcast::Sender<Notification>);

impl Default for Notifier {
    fn default() -> Self {
        Self(broadcast::channel(BUFFERED).0)
    }
}

impl Notifier {
    pub fn notify(&self, notification: Notification) {
        // Sending fails only when there is no subscriber.
        let _ = self.0.send(notification);
    }

    /// Receives every notification sent after this call.
    pub fn subscribe(&self) -> broadcast::Receiver<Notification> {
        self.0.subscribe()
    }
}
