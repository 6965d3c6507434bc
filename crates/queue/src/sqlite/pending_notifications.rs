//! Notifications that are sent after the transaction has committed.

use std::sync::Arc;

use crate::ids::TenantId;
use crate::notification::{Notification, Notifier};

/// The changes of one tenant.
#[derive(Debug, Default)]
struct TenantChanges {
    changed: bool,
    sampled: bool,
    /// Number of claimable jobs by backend.
    work: Vec<(Arc<str>, u32)>,
}

/// Merges the changes of all operations, so that a transaction sends each notification once. The lists are short,
/// so they are searched linearly.
#[derive(Debug, Default)]
pub(super) struct PendingNotifications(Vec<(TenantId, TenantChanges)>);

impl PendingNotifications {
    pub(super) fn changed(&mut self, tenant: &TenantId) {
        self.entry(tenant).changed = true;
    }

    pub(super) fn sampled(&mut self, tenant: &TenantId) {
        self.entry(tenant).sampled = true;
    }

    pub(super) fn work(&mut self, tenant: &TenantId, backend: &str) {
        let changes = self.entry(tenant);
        match changes.work.iter_mut().find(|(name, _)| **name == *backend) {
            Some((_, jobs)) => *jobs += 1,
            None => changes.work.push((backend.into(), 1)),
        }
    }

    /// Sends the notifications and clears them.
    pub(super) fn notify(&mut self, notifier: &Notifier) {
        for (tenant, changes) in self.0.drain(..) {
            for (backend, jobs) in changes.work {
                notifier.notify(Notification::Work { tenant: tenant.clone(), backend, jobs });
            }
            if changes.sampled {
                notifier.notify(Notification::Sampled { tenant: tenant.clone() });
            }
            if changes.changed {
                notifier.notify(Notification::Changed { tenant });
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn entry(&mut self, tenant: &TenantId) -> &mut TenantChanges {
        let index = self.0.iter().position(|(owner, _)| owner == tenant);
        let index = index.unwrap_or_else(|| {
            self.0.push((tenant.clone(), TenantChanges::default()));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_notification_is_sent_once() {
        let notifier = Notifier::default();
        let mut receiver = notifier.subscribe();
        let tenant = TenantId::new("acme").unwrap();
        let mut pending = PendingNotifications::default();
        for backend in ["cuda", "", "cuda"] {
            pending.work(&tenant, backend);
            pending.changed(&tenant);
        }
        pending.notify(&notifier);
        pending.notify(&notifier);
        let all: Vec<Notification> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
        let work = |backend: &str, jobs| Notification::Work {
            tenant: tenant.clone(),
            backend: backend.into(),
            jobs,
        };
        assert_eq!(all, [work("cuda", 2), work("", 1), Notification::Changed { tenant: tenant.clone() }]);
    }
}
