//! A subscriber of a store.

use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use vmafx_queue::notification::Notification;
use vmafx_queue::{Store, TenantId};

/// Long enough for an announcement through the server; only a missing notification takes this long.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Receives the notifications sent after it was created.
#[derive(Debug)]
pub(crate) struct Subscriber(Receiver<Notification>);

impl Subscriber {
    pub(crate) fn new(store: &dyn Store) -> Self {
        Self(store.notifications())
    }

    /// Waits for a matching notification and ignores others before it.
    pub(crate) async fn until(&mut self, what: &str, wanted: impl Fn(&Notification) -> bool) {
        let search = async { while !wanted(&self.0.recv().await.unwrap()) {} };
        assert!(tokio::time::timeout(TIMEOUT, search).await.is_ok(), "no notification: {what}");
    }

    pub(crate) async fn work(&mut self, whose: &TenantId, of: &str) {
        let fits = |notification: &Notification| {
            matches!(notification, Notification::Work { tenant, backend, jobs }
                if tenant == whose && &**backend == of && *jobs > 0)
        };
        self.until(&format!("work of {whose} for {of:?}"), fits).await;
    }

    pub(crate) async fn changed(&mut self, whose: &TenantId) {
        let fits = |notification: &Notification| matches!(notification, Notification::Changed { tenant } if tenant == whose);
        self.until(&format!("changes of {whose}"), fits).await;
    }

    pub(crate) async fn sampled(&mut self, whose: &TenantId) {
        let fits = |notification: &Notification| matches!(notification, Notification::Sampled { tenant } if tenant == whose);
        self.until(&format!("samples of {whose}"), fits).await;
    }
}
