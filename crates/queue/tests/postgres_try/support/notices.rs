//! Listening to a store.

use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use vmafx_queue::notice::Notice;
use vmafx_queue::{Store, TenantId};

/// Long enough for a notice that takes its way through a server; only a missing one takes so long.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a store tells from now on.
#[derive(Debug)]
pub(crate) struct Heard(Receiver<Notice>);

impl Heard {
    pub(crate) fn new(store: &dyn Store) -> Self {
        Self(store.notices())
    }

    /// Waits for a notice; others before it are passed over.
    pub(crate) async fn until(&mut self, what: &str, wanted: impl Fn(&Notice) -> bool) {
        let search = async { while !wanted(&self.0.recv().await.unwrap()) {} };
        assert!(tokio::time::timeout(PATIENCE, search).await.is_ok(), "no notice: {what}");
    }

    pub(crate) async fn work(&mut self, whose: &TenantId, of: &str) {
        let fits = |notice: &Notice| {
            matches!(notice, Notice::Work { tenant, backend, jobs }
                if tenant == whose && &**backend == of && *jobs > 0)
        };
        self.until(&format!("work of {whose} for {of:?}"), fits).await;
    }

    pub(crate) async fn changed(&mut self, whose: &TenantId) {
        let fits = |notice: &Notice| matches!(notice, Notice::Changed { tenant } if tenant == whose);
        self.until(&format!("changes of {whose}"), fits).await;
    }

    pub(crate) async fn sampled(&mut self, whose: &TenantId) {
        let fits = |notice: &Notice| matches!(notice, Notice::Sampled { tenant } if tenant == whose);
        self.until(&format!("samples of {whose}"), fits).await;
    }
}
