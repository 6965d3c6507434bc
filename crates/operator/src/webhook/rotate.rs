//! Keeps the certificate that the webhook shows and the authorities that the API server trusts in step.
//!
//! The order of every change: the API server is told first, then the certificate that needs it is shown. Both ends are
//! looked at every minute by the wall clock, because a timer of months does not survive a machine that sleeps.

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

/// How often all is looked at.
const EVERY: Duration = Duration::from_mins(1);

/// How soon after a failure.
const AGAIN: Duration = Duration::from_secs(5);

/// Steps of the trust in one look; there are three kinds of them.
const STEPS: usize = 4;

/// Why a look was in vain.
#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    /// The API server.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The cryptography.
    #[error("the webhook's certificate cannot be made")]
    Certificate(#[from] CaError),
    /// TLS.
    #[error("the webhook's certificate cannot be shown")]
    Show(#[from] TlsError),
}

/// What the rotator keeps.
#[derive(Clone, Debug)]
pub struct WebhookNames {
    /// The Secret with the authorities.
    pub secret: String,
    /// The configuration whose bundles are kept.
    pub configuration: String,
    /// What the webhook is called by: names and addresses for its certificate.
    pub hosts: Vec<String>,
}

/// Keeps authorities and certificate. Every replica has one.
#[derive(Debug)]
pub struct CertificateRotator {
    secrets: Api<Secret>,
    configurations: Api<ValidatingWebhookConfiguration>,
    names: WebhookNames,
    clock: WebhookClock,
    tls: ServerTls,
    /// What was last read, for when the API server cannot be asked.
    trust: Option<AuthoritySet>,
    leaf: Option<ServerCertificate>,
    /// What was last said to the log, so that it is said once.
    said: Option<String>,
}

impl CertificateRotator {
    /// Nothing is shown before the first [`CertificateRotator::look`].
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
            trust: None,
            leaf: None,
            said: None,
        }
    }

    /// Looks until shutdown. The gate is open while the API server can trust what is shown.
    pub async fn run(mut self, gate: ReadinessGate, shutdown: Shutdown) -> Result<(), Infallible> {
        let mut trusted = false;
        loop {
            let Some(looked) = shutdown.run_until_begun(self.look()).await else { return Ok(()) };
            let (pause, problem) = match looked {
                Ok(BundleState::UpToDate | BundleState::Written) => (EVERY, None),
                Ok(BundleState::NoConfiguration) => {
                    trusted = false;
                    let name = &self.names.configuration;
                    (
                        AGAIN,
                        Some(format!("there is no ValidatingWebhookConfiguration {name}, so nobody asks")),
                    )
                }
                Err(error) => (AGAIN, Some(chain(&error))),
            };
            self.say(problem.as_deref());
            match problem {
                None => {
                    trusted = true;
                    gate.open();
                }
                // An API server that does not answer has not forgotten whom it trusts.
                Some(_) if trusted => {}
                Some(reason) => gate.close(reason),
            }
            if shutdown.run_until_begun(tokio::time::sleep(pause)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// Brings everything up to date, once.
    pub async fn look(&mut self) -> Result<BundleState, RotationError> {
        let mut told = self.tell().await;
        for _ in 1..STEPS {
            // Another replica was faster: what it wrote is as good.
            if !matches!(told, Err(RotationError::Api(ApiError::Conflict { .. }))) {
                break;
            }
            told = self.tell().await;
        }
        self.show(told.is_ok())?;
        told
    }

    /// Reads the authorities, takes the steps that are due, and tells the API server after each.
    async fn tell(&mut self) -> Result<BundleState, RotationError> {
        let (mut secret, mut trust) = self.stored().await?;
        for _ in 0..STEPS {
            self.trust = Some(trust.clone());
            let published = publish(&self.configurations, &self.names.configuration, &trust.bundle()).await?;
            let step = trust.advance(self.clock.now(), published == BundleState::UpToDate)?;
            let Some((next, change)) = step else { return Ok(published) };
            next.write(&mut secret);
            secret = self.replace(&secret).await?;
            tracing::info!(secret = self.names.secret, "{}", words(change));
            trust = next;
        }
        Ok(BundleState::Written)
    }

    /// The Secret and what it holds; made if there is none, made anew if it cannot be used.
    async fn stored(&self) -> Result<(Secret, AuthoritySet), RotationError> {
        let (name, now) = (self.names.secret.as_str(), self.clock.now());
        let Some(mut secret) = call("read the webhook's authority", self.secrets.get_opt(name)).await? else {
            let trust = AuthoritySet::make(now)?;
            let secret = self.create(&trust).await?;
            tracing::info!(secret = name, "a new authority for the webhook was made");
            return Ok((secret, trust));
        };
        match AuthoritySet::read(&secret) {
            Ok(trust) if trust.current.root.begins <= now.time => return Ok((secret, trust)),
            Ok(trust) => {
                let begins = trust.current.root.begins;
                tracing::error!(secret = name, %begins, "tls.crt is not valid yet; a new authority takes its place, alone");
            }
            Err(error) => {
                let error = &error as &dyn Error;
                tracing::error!(
                    secret = name,
                    error,
                    "the Secret holds no authority; a new one takes its place, alone"
                );
            }
        }
        let trust = AuthoritySet::make(now)?;
        trust.write(&mut secret);
        Ok((self.replace(&secret).await?, trust))
    }

    async fn create(&self, trust: &AuthoritySet) -> Result<Secret, ApiError> {
        let mut secret = Secret {
            metadata: ObjectMeta { name: Some(self.names.secret.clone()), ..ObjectMeta::default() },
            type_: Some("kubernetes.io/tls".to_owned()),
            ..Secret::default()
        };
        trust.write(&mut secret);
        call("store the webhook's authority", self.secrets.create(&params(), &secret)).await
    }

    /// Written by resource version: whoever wrote in between is not overwritten.
    async fn replace(&self, secret: &Secret) -> Result<Secret, ApiError> {
        call("store the webhook's authority", self.secrets.replace(&self.names.secret, &params(), secret))
            .await
    }

    /// Shows another certificate, if it is time for one; `told` says whether the API server knows the authorities.
    fn show(&mut self, told: bool) -> Result<(), RotationError> {
        let Some(trust) = &self.trust else { return Ok(()) };
        let now = self.clock.now();
        let wanted = match &self.leaf {
            None => true,
            Some(leaf) if leaf.authority == trust.current.root.pem => leaf.is_due(now.time),
            // The API server may not know its authority yet, but it still takes the old one.
            Some(leaf) => told || leaf.has_ended(now.time),
        };
        if wanted {
            let leaf = trust.current.sign(&self.names.hosts, now)?;
            let (chain, key) = leaf.pair();
            self.tls.replace(chain, key)?;
            tracing::info!(ends = %leaf.ends(), hosts = ?self.names.hosts, "the webhook shows a new certificate");
            self.leaf = Some(leaf);
        }
        Ok(())
    }

    /// The certificate that is shown.
    pub fn leaf(&self) -> Option<&ServerCertificate> {
        self.leaf.as_ref()
    }

    /// The authorities, as they were last seen.
    pub fn trust(&self) -> Option<&AuthoritySet> {
        self.trust.as_ref()
    }

    fn say(&mut self, problem: Option<&str>) {
        if self.said.as_deref() != problem {
            if let Some(problem) = problem {
                tracing::warn!(problem, "the webhook's certificate is not in order; trying again");
            }
            self.said = problem.map(str::to_owned);
        }
    }
}

fn params() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

fn words(change: RotationStep) -> &'static str {
    match change {
        RotationStep::NextMade => "the webhook's authority ends within a year; the next one was made",
        RotationStep::NextSigns => "the next authority signs the webhook's certificates",
        RotationStep::PreviousForgotten => "the previous authority of the webhook is forgotten",
    }
}

#[cfg(test)]
mod tests;
