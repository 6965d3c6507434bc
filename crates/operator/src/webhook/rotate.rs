//! Renews the webhook's certificate and rotates the authorities that the API server trusts.
//!
//! The API server's CA bundle is always updated before a certificate that needs it is served. Validity is checked every
//! minute by the wall clock, because a monotonic timer of months would be late after a machine slept.

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use vmafx_kit::causes::chain;
use vmafx_kit::health::ReadinessGate;
use vmafx_kit::tasks::Shutdown;
use vmafx_kit::tls::{ServerTls, TlsError};

use super::authorities::{AuthoritySet, RotationStep};
use super::ca::{CaError, ServerCertificate};
use super::clock::WebhookClock;
use super::publish::{BundleState, publish};
use crate::FIELD_MANAGER;
use crate::error::{ApiError, call};

const CHECK_INTERVAL: Duration = Duration::from_mins(1);

const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Bound on the rotation steps of one check: there are three of them.
const MAX_STEPS: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    #[error(transparent)]
    Api(#[from] ApiError),
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
    secrets: Api<Secret>,
    configurations: Api<ValidatingWebhookConfiguration>,
    names: WebhookNames,
    clock: WebhookClock,
    tls: ServerTls,
    /// The authorities as last read, which renew the certificate while the API server does not answer.
    authorities: Option<AuthoritySet>,
    certificate: Option<ServerCertificate>,
    /// The last logged problem; each is logged once.
    logged: Option<String>,
}

impl CertificateRotator {
    /// No certificate is served before the first [`CertificateRotator::refresh`].
    pub fn new(
        client: Client,
        namespace: &str,
        names: WebhookNames,
        clock: WebhookClock,
        tls: ServerTls,
    ) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), namespace),
            configurations: Api::all(client),
            names,
            clock,
            tls,
            authorities: None,
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
                Ok(BundleState::NoConfiguration) => {
                    trusted = false;
                    let name = &self.names.configuration;
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
    pub async fn refresh(&mut self) -> Result<BundleState, RotationError> {
        let mut published = self.rotate().await;
        for _ in 1..MAX_STEPS {
            // After a conflict, the next attempt reads what the other replica has written.
            if !matches!(published, Err(RotationError::Api(ApiError::Conflict { .. }))) {
                break;
            }
            published = self.rotate().await;
        }
        self.renew(published.is_ok())?;
        published
    }

    /// Reads the authorities, performs the rotation steps that are due, and publishes the bundle after each.
    async fn rotate(&mut self) -> Result<BundleState, RotationError> {
        let (mut secret, mut authorities) = self.stored().await?;
        for _ in 0..MAX_STEPS {
            self.authorities = Some(authorities.clone());
            let published =
                publish(&self.configurations, &self.names.configuration, &authorities.bundle()).await?;
            let step = authorities.advance(self.clock.now(), published == BundleState::UpToDate)?;
            let Some((next, step)) = step else { return Ok(published) };
            next.write(&mut secret);
            secret = self.replace(&secret).await?;
            tracing::info!(secret = self.names.secret, "{}", message(step));
            authorities = next;
        }
        Ok(BundleState::Written)
    }

    /// The Secret and its authorities, which are generated if the Secret does not exist or cannot be used.
    async fn stored(&self) -> Result<(Secret, AuthoritySet), RotationError> {
        let (name, now) = (self.names.secret.as_str(), self.clock.now());
        let Some(mut secret) = call("read the webhook's authority", self.secrets.get_opt(name)).await? else {
            let authorities = AuthoritySet::generate(now)?;
            let secret = self.create(&authorities).await?;
            tracing::info!(secret = name, "generated a certificate authority for the webhook");
            return Ok((secret, authorities));
        };
        match AuthoritySet::parse(&secret) {
            Ok(authorities) if authorities.current.certificate.not_before <= now.time => {
                return Ok((secret, authorities));
            }
            Ok(authorities) => {
                let not_before = authorities.current.certificate.not_before;
                tracing::error!(secret = name, %not_before, "tls.crt is not valid yet; it is replaced by a new authority");
            }
            Err(error) => {
                let error = &error as &dyn Error;
                tracing::error!(
                    secret = name,
                    error,
                    "the Secret has no valid authority; it is replaced by a new one"
                );
            }
        }
        let authorities = AuthoritySet::generate(now)?;
        authorities.write(&mut secret);
        Ok((self.replace(&secret).await?, authorities))
    }

    async fn create(&self, authorities: &AuthoritySet) -> Result<Secret, ApiError> {
        let mut secret = Secret {
            metadata: ObjectMeta { name: Some(self.names.secret.clone()), ..ObjectMeta::default() },
            type_: Some("kubernetes.io/tls".to_owned()),
            ..Secret::default()
        };
        authorities.write(&mut secret);
        call("store the webhook's authority", self.secrets.create(&params(), &secret)).await
    }

    /// By resource version: a write of another replica in between is a conflict.
    async fn replace(&self, secret: &Secret) -> Result<Secret, ApiError> {
        call("store the webhook's authority", self.secrets.replace(&self.names.secret, &params(), secret))
            .await
    }

    /// Serves a new certificate, if one is due; `published` says whether the API server has the bundle.
    fn renew(&mut self, published: bool) -> Result<(), RotationError> {
        let Some(AuthoritySet { current, .. }) = &self.authorities else { return Ok(()) };
        let now = self.clock.now();
        let due = match &self.certificate {
            None => true,
            Some(served) if served.authority == current.certificate.pem => served.is_due(now.time),
            // The API server may not trust the new authority yet, but it still trusts the old one.
            Some(served) => published || served.has_expired(now.time),
        };
        if due {
            let certificate = current.sign(&self.names.hosts, now)?;
            let (chain, key) = certificate.pair();
            self.tls.replace(chain, key)?;
            let (not_after, hosts) = (certificate.not_after(), &self.names.hosts);
            tracing::info!(%not_after, ?hosts, "the webhook serves a new certificate");
            self.certificate = Some(certificate);
        }
        Ok(())
    }

    pub fn certificate(&self) -> Option<&ServerCertificate> {
        self.certificate.as_ref()
    }

    pub fn authorities(&self) -> Option<&AuthoritySet> {
        self.authorities.as_ref()
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

fn params() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

fn message(step: RotationStep) -> &'static str {
    match step {
        RotationStep::NextGenerated => {
            "generated the next authority of the webhook: the current one expires within a year"
        }
        RotationStep::NextPromoted => "the next authority signs the webhook's certificates",
        RotationStep::PreviousRemoved => "removed the previous authority of the webhook",
    }
}

#[cfg(test)]
mod tests;
