//! Issues the controller's certificate and rotates the authorities that sign it.
//!
//! The controllers and their clients read the certificate and the authorities from volumes, which the kubelet
//! updates; none of them restarts.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};

use super::certificate::{self, renewal};
use super::distribute::CaDistributor;
use crate::authority::store::{params, tls_secret};
use crate::authority::{AuthoritySet, AuthorityStore, CaError, CertificateClock, RotationError};
use crate::error::{ApiError, call};

#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error(transparent)]
    Rotation(#[from] RotationError),
    #[error("cannot issue the controller's certificate")]
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
        }
    }

    /// Rotates the authorities, and renews the certificate if that is due. A namespace whose workers cannot be given
    /// the authorities delays a change of the authority, not the renewal of the certificate.
    pub async fn refresh(&mut self) -> Result<(), IssueError> {
        let published = self.store.rotate(&self.distributor).await;
        self.renew(published.is_ok()).await?;
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
