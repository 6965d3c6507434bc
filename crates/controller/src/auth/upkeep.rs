//! What goes on without being asked: files are looked at, keys are read before the first call.

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::authenticator::{Authenticator, Issuers};

/// How often files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Run this beside the listeners.
#[derive(Clone, Debug)]
pub struct Upkeep(pub(super) Authenticator);

impl Upkeep {
    /// Runs until shutdown begins.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), BoxError> {
        shutdown.run_until_begun(self.forever()).await;
        Ok(())
    }

    /// Looks at every file once.
    pub async fn look(&self) {
        let inner = &self.0.0;
        if let Some(tokens) = &inner.tokens {
            tokens.look().await;
        }
        if let Issuers::One(provider) = &inner.issuers {
            provider.look().await;
        }
    }

    /// Reads the tenants again.
    pub async fn refresh(&self) {
        if let Issuers::Tenants(registry) = &self.0.0.issuers {
            registry.refresh().await;
        }
    }

    async fn forever(&self) {
        if let Issuers::One(provider) = &self.0.0.issuers {
            provider.keys.warm().await;
        }
        let interval = match &self.0.0.issuers {
            Issuers::Tenants(registry) => registry.interval(),
            _ => Duration::from_hours(1),
        };
        let mut looks = every(LOOK_EVERY);
        let mut refreshes = every(interval);
        loop {
            tokio::select! {
                _ = looks.tick() => self.look().await,
                _ = refreshes.tick() => self.refresh().await,
            }
        }
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
