//! What a store tells those who wait.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::ids::TenantId;

/// Something happened, and is durable. A notice is a hint to look, never the news itself: a receiver that lagged
/// behind looks at everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Jobs of this tenant and backend (empty: any) can be claimed.
    Work {
        /// Whose.
        tenant: TenantId,
        /// For which nodes.
        backend: Arc<str>,
        /// How many.
        jobs: u32,
    },
    /// Jobs of this tenant changed.
    Changed {
        /// Whose.
        tenant: TenantId,
    },
    /// There are new samples of this tenant.
    Sampled {
        /// Whose.
        tenant: TenantId,
    },
}

/// Notices that may wait for a slow receiver before it is told that it lagged.
const WAITING: usize = 4096;

/// Where a store's notices come out.
#[derive(Clone, Debug)]
pub struct Notices(broadcast::Sender<Notice>);

impl Default for Notices {
    fn default() -> Self {
        Self(broadcast::channel(WAITING).0)
    }
}

impl Notices {
    /// Tells everybody who listens.
    pub fn tell(&self, notice: Notice) {
        // Nobody listening is no error.
        let _ = self.0.send(notice);
    }

    /// Listens from now on.
    pub fn listen(&self) -> broadcast::Receiver<Notice> {
        self.0.subscribe()
    }
}
