//! The task that reloads changed files, refreshes tenants, and fetches keys before the first call.

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::authenticator::{Authenticator, Issuers};

const FILE_POLL_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct AuthRefresher(pub(super) Authenticator);

impl AuthRefresher {
    pub async fn run(self, shutdown: Shutdown) -> Result<(), BoxError> {
        shutdown.run_until_begun(self.refresh_forever()).await;
        Ok(())
    }

    pub async fn reload_files(&self) {
        let inner = &self.0.0;
        if let Some(tokens) = &inner.tokens {
            tokens.reload_if_changed().await;
        }
        if let Some(token) = &inner.metrics_token {
            token.reload_if_changed().await;
        }
        if let Issuers::One(provider) = &inner.issuers {
            provider.reload_if_changed().await;
        }
    }

    pub async fn refresh_tenants(&self) {
        if let Issuers::Tenants(registry) = &self.0.0.issuers {
            registry.refresh().await;
        }
    }

    async fn refresh_forever(&self) {
        if let Issuers::One(provider) = &self.0.0.issuers {
            provider.keys.prefetch().await;
        }
        let interval = match &self.0.0.issuers {
            Issuers::Tenants(registry) => registry.interval(),
            _ => Duration::from_hours(1),
        };
        let mut file_polls = every(FILE_POLL_INTERVAL);
        let mut tenant_refreshes = every(interval);
        loop {
            tokio::select! {
                _ = file_polls.tick() => self.reload_files().await,
                _ = tenant_refreshes.tick() => self.refresh_tenants().await,
            }
        }
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
