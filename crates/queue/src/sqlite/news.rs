//! What a transaction has to tell once it is durable.

use std::sync::Arc;

use crate::ids::TenantId;
use crate::notice::{Notice, Notices};

/// Of one tenant.
#[derive(Debug, Default)]
struct Told {
    changed: bool,
    sampled: bool,
    /// Jobs that can be claimed, by backend. There are few.
    work: Vec<(Arc<str>, u32)>,
}

/// Everything once, however many operations say it. One transaction has few tenants.
#[derive(Debug, Default)]
pub(super) struct News(Vec<(TenantId, Told)>);

impl News {
    pub(super) fn changed(&mut self, tenant: &TenantId) {
        self.of(tenant).changed = true;
    }

    pub(super) fn sampled(&mut self, tenant: &TenantId) {
        self.of(tenant).sampled = true;
    }

    pub(super) fn work(&mut self, tenant: &TenantId, backend: &str) {
        let told = self.of(tenant);
        match told.work.iter_mut().find(|(known, _)| **known == *backend) {
            Some((_, jobs)) => *jobs += 1,
            None => told.work.push((backend.into(), 1)),
        }
    }

    /// Tells, and is empty again.
    pub(super) fn tell(&mut self, notices: &Notices) {
        for (tenant, told) in self.0.drain(..) {
            for (backend, jobs) in told.work {
                notices.tell(Notice::Work { tenant: tenant.clone(), backend, jobs });
            }
            if told.sampled {
                notices.tell(Notice::Sampled { tenant: tenant.clone() });
            }
            if told.changed {
                notices.tell(Notice::Changed { tenant });
            }
        }
    }

    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    fn of(&mut self, tenant: &TenantId) -> &mut Told {
        let known = self.0.iter().position(|(known, _)| known == tenant);
        let at = known.unwrap_or_else(|| {
            self.0.push((tenant.clone(), Told::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_told_once() {
        let notices = Notices::default();
        let mut heard = notices.listen();
        let tenant = TenantId::new("acme").unwrap();
        let mut news = News::default();
        for backend in ["cuda", "", "cuda"] {
            news.work(&tenant, backend);
            news.changed(&tenant);
        }
        news.tell(&notices);
        news.tell(&notices);
        let all: Vec<Notice> = std::iter::from_fn(|| heard.try_recv().ok()).collect();
        let work =
            |backend: &str, jobs| Notice::Work { tenant: tenant.clone(), backend: backend.into(), jobs };
        assert_eq!(all, [work("cuda", 2), work("", 1), Notice::Changed { tenant: tenant.clone() }]);
    }
}
