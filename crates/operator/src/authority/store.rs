//! The Secret with the authorities, and the rotation steps that are due.
//!
//! The bundle is published before and after every step, so that no certificate is needed by anybody before the one
//! that verifies it is there. The Secret is written by its resource version: of two writers, one gets a conflict and
//! reads what the other has written.

use std::error::Error;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use vmafx_kit::channel::SharedAuthorities;

use super::authorities::{AuthoritySet, RotationStep};
use super::ca::CaError;
use super::clock::CertificateClock;
use crate::FIELD_MANAGER;
use crate::error::{ApiError, call};

/// Bound on the rotation steps of one check: there are three of them.
const MAX_STEPS: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error("cannot issue a certificate")]
    Certificate(#[from] CaError),
}

impl RotationError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Api(ApiError::Conflict { .. }))
    }
}

/// What a publication of the bundle has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleState {
    UpToDate,
    Written,
    /// There is nothing to publish the bundle in.
    NoRecipient,
}

/// Where the certificates of all authorities are published for those who verify.
pub trait PublishBundle: Sync {
    fn publish(&self, bundle: &str) -> impl Future<Output = Result<BundleState, ApiError>> + Send;
}

#[derive(Debug)]
pub struct AuthorityStore {
    secrets: Api<Secret>,
    /// Name of the Secret.
    name: String,
    /// Whose authority it is, for log messages.
    whose: &'static str,
    clock: CertificateClock,
    /// The authorities as last read, which renew certificates while the API server does not answer.
    authorities: Option<AuthoritySet>,
    /// Their certificates.
    bundle: SharedAuthorities,
}

impl AuthorityStore {
    pub fn new(
        client: Client,
        namespace: &str,
        name: String,
        whose: &'static str,
        clock: CertificateClock,
    ) -> Self {
        let secrets = Api::namespaced(client, namespace);
        Self { secrets, name, whose, clock, authorities: None, bundle: SharedAuthorities::default() }
    }

    pub fn authorities(&self) -> Option<&AuthoritySet> {
        self.authorities.as_ref()
    }

    pub fn bundle(&self) -> &SharedAuthorities {
        &self.bundle
    }

    pub fn clock(&self) -> &CertificateClock {
        &self.clock
    }

    /// Performs the steps that are due, and publishes the bundle after each.
    pub async fn rotate(&mut self, recipient: &impl PublishBundle) -> Result<BundleState, RotationError> {
        let mut published = self.attempt(recipient).await;
        for _ in 1..MAX_STEPS {
            // After a conflict, the next attempt reads what the other writer has written.
            if !published.as_ref().is_err_and(RotationError::is_conflict) {
                break;
            }
            published = self.attempt(recipient).await;
        }
        published
    }

    async fn attempt(&mut self, recipient: &impl PublishBundle) -> Result<BundleState, RotationError> {
        let (mut secret, mut authorities) = self.stored().await?;
        for _ in 0..MAX_STEPS {
            self.authorities = Some(authorities.clone());
            self.bundle.replace(&authorities.bundle());
            let published = recipient.publish(&authorities.bundle()).await?;
            let step = authorities.advance(self.clock.now(), published == BundleState::UpToDate)?;
            let Some((next, step)) = step else { return Ok(published) };
            next.write(&mut secret);
            secret = self.replace(&secret).await?;
            tracing::info!(secret = self.name, whose = self.whose, "{}", message(step));
            authorities = next;
        }
        Ok(BundleState::Written)
    }

    /// The Secret and its authorities, which are generated if the Secret does not exist or cannot be used.
    async fn stored(&self) -> Result<(Secret, AuthoritySet), RotationError> {
        let (name, whose, now) = (self.name.as_str(), self.whose, self.clock.now());
        let Some(mut secret) = call("read the certificate authority", self.secrets.get_opt(name)).await?
        else {
            let authorities = AuthoritySet::generate(now)?;
            let secret = self.create(&authorities).await?;
            tracing::info!(secret = name, whose, "generated a certificate authority");
            return Ok((secret, authorities));
        };
        match AuthoritySet::parse(&secret) {
            Ok(authorities) if authorities.current.certificate.not_before <= now.time => {
                return Ok((secret, authorities));
            }
            Ok(authorities) => {
                let not_before = authorities.current.certificate.not_before;
                tracing::error!(
                    secret = name, whose, %not_before, "tls.crt is not valid yet; it is replaced by a new authority"
                );
            }
            Err(error) => {
                let error = &error as &dyn Error;
                tracing::error!(
                    secret = name,
                    whose,
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
        let mut secret = tls_secret(&self.name);
        authorities.write(&mut secret);
        call("store the certificate authority", self.secrets.create(&params(), &secret)).await
    }

    /// By resource version: another write in between is a conflict.
    async fn replace(&self, secret: &Secret) -> Result<Secret, ApiError> {
        call("store the certificate authority", self.secrets.replace(&self.name, &params(), secret)).await
    }
}

/// A Secret without content, of the type for a certificate and its key.
pub(crate) fn tls_secret(name: &str) -> Secret {
    Secret {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        type_: Some("kubernetes.io/tls".to_owned()),
        ..Secret::default()
    }
}

pub(crate) fn params() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

fn message(step: RotationStep) -> &'static str {
    match step {
        RotationStep::NextGenerated => {
            "generated the next certificate authority: the current one expires within a year"
        }
        RotationStep::NextPromoted => "the next certificate authority signs from now on",
        RotationStep::PreviousRemoved => "removed the previous certificate authority",
    }
}
