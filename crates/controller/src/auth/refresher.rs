//! The task that reloads changed files, refreshes tenants, and fetches keys before the first call.

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use vmafx_kit::health::{Readiness, ReadinessGate};
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::authenticator::Authenticator;

/// Also how often open calls are checked for expired tokens.
const FILE_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Without tenants there is nothing to refresh.
const NO_TENANTS: Duration = Duration::from_hours(1);

#[derive(Clone, Debug)]
pub struct AuthRefresher(pub(super) Authenticator);

impl AuthRefresher {
    /// While the tenants are unknown or stale every call is refused, so the controller is not ready: another one may be able
    /// to read them.
    pub fn run(
        self,
        readiness: &Readiness,
        shutdown: Shutdown,
    ) -> impl Future<Output = Result<(), BoxError>> + Send + use<> {
        let tenants = self.0.0.issuers.tenants.as_ref();
        let gate = tenants.map(|_| readiness.gate("tenants", "have not been read yet"));
        async move {
            shutdown.run_until_begun(self.refresh_forever(gate.as_ref())).await;
            Ok(())
        }
    }

    pub async fn reload_files(&self) {
        let inner = &self.0.0;
        if let Some(tokens) = &inner.tokens {
            tokens.reload_if_changed().await;
        }
        if let Some(token) = &inner.metrics_token {
            token.reload_if_changed().await;
        }
        if let Some(provider) = &inner.issuers.provider {
            provider.reload_if_changed().await;
        }
        inner.signal.send();
    }

    pub async fn refresh_tenants(&self) {
        if let Some(registry) = &self.0.0.issuers.tenants {
            registry.refresh().await;
        }
    }

    async fn refresh_forever(&self, gate: Option<&ReadinessGate>) {
        let issuers = &self.0.0.issuers;
        if let Some(provider) = &issuers.provider {
            provider.keys.prefetch().await;
        }
        let interval = issuers.tenants.as_ref().map_or(NO_TENANTS, |registry| registry.interval());
        let mut file_polls = every(FILE_POLL_INTERVAL);
        let mut tenant_refreshes = every(interval);
        loop {
            tokio::select! {
                _ = file_polls.tick() => self.reload_files().await,
                _ = tenant_refreshes.tick() => {
                    self.refresh_tenants().await;
                    self.set_gate(gate);
                }
            }
        }
    }

    fn set_gate(&self, gate: Option<&ReadinessGate>) {
        let Some((gate, registry)) = gate.zip(self.0.0.issuers.tenants.as_ref()) else { return };
        match registry.check_age() {
            Ok(()) => gate.open(),
            Err(_) => gate.close("could not be read for ten refresh intervals; the log has the cause"),
        }
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
