//! Renews the webhook's certificate and rotates the authorities that the API server trusts.
//!
//! The API server's CA bundle is always updated before a certificate that needs it is served. Validity is checked every
//! minute by the wall clock, because a monotonic timer of months would be late after a machine slept.

use std::convert::Infallible;
use std::time::Duration;

use kube::{Api, Client};
use vmafx_kit::causes::chain;
use vmafx_kit::channel::SharedAuthorities;
use vmafx_kit::health::ReadinessGate;
use vmafx_kit::tasks::Shutdown;
use vmafx_kit::tls::{ServerTls, TlsError};

use super::publish::LiveConfiguration;
use crate::authority::{
    AuthoritySet, AuthorityStore, BundleState, CaError, CertificateClock, RotationError, SignedCertificate,
};

const CHECK_INTERVAL: Duration = Duration::from_mins(1);

const RETRY_DELAY: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    #[error(transparent)]
    Rotation(#[from] RotationError),
    #[error("cannot issue the webhook's certificate")]
    Certificate(#[from] CaError),
    #[error("cannot serve the webhook's certificate")]
    Serve(#[from] TlsError),
}

#[derive(Clone, Debug)]
pub struct WebhookNames {
    /// Secret with the authorities.
    pub secret: String,
    /// `ValidatingWebhookConfiguration` with the CA bundles.
    pub configuration: String,
    /// Host names and addresses of the certificate.
    pub hosts: Vec<String>,
}

#[derive(Debug)]
pub struct CertificateRotator {
    store: AuthorityStore,
    configuration: LiveConfiguration,
    /// Host names and addresses of the certificate.
    hosts: Vec<String>,
    tls: ServerTls,
    certificate: Option<SignedCertificate>,
    /// The last logged problem; each is logged once.
    logged: Option<String>,
}

impl CertificateRotator {
    /// No certificate is served before the first [`CertificateRotator::refresh`].
    pub fn new(
        client: Client,
        namespace: &str,
        names: WebhookNames,
        clock: CertificateClock,
        tls: ServerTls,
    ) -> Self {
        let WebhookNames { secret, configuration, hosts } = names;
        Self {
            store: AuthorityStore::new(client.clone(), namespace, secret, "webhook", clock),
            configuration: LiveConfiguration { api: Api::all(client), name: configuration },
            hosts,
            tls,
            certificate: None,
            logged: None,
        }
    }

    /// Refreshes until shutdown. The gate is open while the API server trusts the certificate.
    pub async fn run(mut self, gate: ReadinessGate, shutdown: Shutdown) -> Result<(), Infallible> {
        let mut trusted = false;
        loop {
            let Some(state) = shutdown.run_until_begun(self.refresh()).await else { return Ok(()) };
            let (delay, problem) = match state {
                Ok(BundleState::UpToDate | BundleState::Written) => (CHECK_INTERVAL, None),
                Ok(BundleState::NoRecipient) => {
                    trusted = false;
                    let name = &self.configuration.name;
                    (
                        RETRY_DELAY,
                        Some(format!("ValidatingWebhookConfiguration {name} does not exist: install it")),
                    )
                }
                Err(error) => (RETRY_DELAY, Some(chain(&error))),
            };
            self.log(problem.as_deref());
            match problem {
                None => {
                    trusted = true;
                    gate.open();
                }
                // An API server that does not answer still has the last bundle.
                Some(_) if trusted => {}
                Some(reason) => gate.close(reason),
            }
            if shutdown.run_until_begun(tokio::time::sleep(delay)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// Rotates the authorities, and renews the certificate if that is due.
    pub async fn refresh(&mut self) -> Result<BundleState, RefreshError> {
        let published = self.store.rotate(&self.configuration).await;
        self.renew(published.is_ok())?;
        Ok(published?)
    }

    /// Serves a new certificate, if one is due; `published` says whether the API server has the bundle.
    fn renew(&mut self, published: bool) -> Result<(), RefreshError> {
        let Some(AuthoritySet { current, .. }) = self.store.authorities() else { return Ok(()) };
        let now = self.store.clock().now();
        let due = match &self.certificate {
            None => true,
            Some(served) if served.authority == current.certificate.pem => served.validity.is_due(now.time),
            // The API server may not trust the new authority yet, but it still trusts the old one.
            Some(served) => published || served.validity.has_expired(now.time),
        };
        if due {
            let certificate = current.sign(&self.hosts, now)?;
            let (chain, key) = certificate.pair();
            self.tls.replace(chain, key)?;
            let (not_after, hosts) = (certificate.validity.not_after, &self.hosts);
            tracing::info!(%not_after, ?hosts, "the webhook serves a new certificate");
            self.certificate = Some(certificate);
        }
        Ok(())
    }

    /// What the API server is given to verify the webhook.
    pub fn bundle(&self) -> SharedAuthorities {
        self.store.bundle().clone()
    }

    pub fn certificate(&self) -> Option<&SignedCertificate> {
        self.certificate.as_ref()
    }

    pub fn authorities(&self) -> Option<&AuthoritySet> {
        self.store.authorities()
    }

    fn log(&mut self, problem: Option<&str>) {
        if self.logged.as_deref() != problem {
            if let Some(problem) = problem {
                tracing::warn!(problem, "cannot refresh the webhook's certificate; trying again");
            }
            self.logged = problem.map(str::to_owned);
        }
    }
}

#[cfg(test)]
mod tests;
