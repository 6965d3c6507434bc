//! Issues the controller's certificate and rotates the authorities that sign it.
//!
//! The controllers and their clients read the certificate and the authorities from volumes, which the kubelet
//! updates; none of them restarts.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};

use super::certificate::{self, renewal};
use super::distribute::CaDistributor;
use crate::authority::store::{params, tls_secret};
use crate::authority::{
    AuthoritySet, AuthorityStore, BundleState, CaError, CertificateClock, PublishBundle, RotationError,
};
use crate::error::{ApiError, call};

#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error(transparent)]
    Rotation(#[from] RotationError),
    #[error("cannot issue a certificate for the controller or its clients")]
    Certificate(#[from] CaError),
    #[error(transparent)]
    Api(#[from] ApiError),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedNames {
    /// The operator's namespace, which is that of the controller too.
    pub namespace: String,
    /// Secret with the certificate.
    pub certificate: String,
    /// Secret with the authorities.
    pub authority: String,
    /// Host names and addresses of the certificate.
    pub hosts: Vec<String>,
}

#[derive(Debug)]
pub struct CertificateIssuer {
    store: AuthorityStore,
    secrets: Api<Secret>,
    names: IssuedNames,
    distributor: CaDistributor,
    /// The bundle that the controller's Secret has.
    stored_bundle: Option<String>,
}

/// The clients of the controller verify it by the bundle, and the controller verifies them: the next authority signs when
/// both have it.
struct BundleRecipients<'a> {
    clients: &'a CaDistributor,
    controller: Option<&'a str>,
}

impl PublishBundle for BundleRecipients<'_> {
    async fn publish(&self, bundle: &str) -> Result<BundleState, ApiError> {
        let state = self.clients.publish(bundle).await?;
        // The controller's Secret is written after this; only the next attempt knows that it was.
        let behind = state == BundleState::UpToDate && self.controller != Some(bundle);
        Ok(if behind { BundleState::Written } else { state })
    }
}

impl CertificateIssuer {
    pub fn new(
        client: Client,
        names: IssuedNames,
        clock: CertificateClock,
        distributor: CaDistributor,
    ) -> Self {
        let (namespace, authority) = (names.namespace.as_str(), names.authority.clone());
        Self {
            store: AuthorityStore::new(client.clone(), namespace, authority, "controller", clock),
            secrets: Api::namespaced(client, namespace),
            names,
            distributor,
            stored_bundle: None,
        }
    }

    /// Rotates the authorities, and renews the certificates that are due. A namespace whose workers cannot be given
    /// the authorities delays a change of the authority, not the renewal of the certificate.
    pub async fn refresh(&mut self) -> Result<(), IssueError> {
        let controller = self.stored_bundle.as_deref();
        let recipients = BundleRecipients { clients: &self.distributor, controller };
        let published = self.store.rotate(&recipients).await;
        self.renew(published.is_ok()).await?;
        self.stored_bundle = self.store.authorities().map(AuthoritySet::bundle);
        if let Some(authorities) = self.store.authorities() {
            self.distributor.issue_to_clients(authorities, published.is_ok()).await?;
        }
        published?;
        Ok(())
    }

    pub fn authorities(&self) -> Option<&AuthoritySet> {
        self.store.authorities()
    }

    async fn renew(&self, published: bool) -> Result<(), IssueError> {
        let Some(authorities) = self.store.authorities() else { return Ok(()) };
        let (name, now) = (&self.names.certificate, self.store.clock().now());
        let stored = call("read the controller's certificate", self.secrets.get_opt(name)).await?;
        let reason = renewal(stored.as_ref(), authorities, &self.names.hosts, now.time, published);
        let bundle = authorities.bundle();
        let exists = stored.is_some();
        let mut secret = stored.unwrap_or_else(|| tls_secret(name));
        match reason {
            None if certificate::has_bundle(&secret, &bundle) => return Ok(()),
            None => certificate::write_bundle(&mut secret, &bundle),
            Some(_) => {
                let issued = authorities.current.sign(&self.names.hosts, now)?;
                certificate::write(&mut secret, &issued, &bundle);
            }
        }
        let (action, params) = ("store the controller's certificate", params());
        if exists {
            // By resource version: another write in between is a conflict.
            call(action, self.secrets.replace(name, &params, &secret)).await?;
        } else {
            call(action, self.secrets.create(&params, &secret)).await?;
        }
        if let Some(reason) = reason {
            tracing::info!(secret = name, ?reason, hosts = ?self.names.hosts, "issued a certificate for the controller");
        }
        Ok(())
    }
}
