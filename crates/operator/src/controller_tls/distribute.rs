//! The authorities by which workers and trainers verify the controller, as a `ConfigMap` in each of their namespaces
//! and in the operator's own.
//!
//! It is not watched: that would need the permission to read all objects of the kind. It is read when the bundle
//! changes and every [`RECHECK_INTERVAL`].

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, ResourceExt as _};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use vmafx_kit::channel::SharedAuthorities;

use super::clients::ClientCertificates;
use super::issue::IssueError;
use crate::authority::{AuthoritySet, BundleState, PublishBundle};
use crate::client::requests::{self, ApplyTo};
use crate::error::ApiError;
use crate::key::ObjectKey;
use crate::runtime::ObjectIdentity;

/// Name of the `ConfigMap`.
pub const CA_CONFIG_MAP: &str = "vmafx-controller-ca";

/// Key of the certificates in it.
pub const CA_KEY: &str = "ca.crt";

const RECHECK_INTERVAL: Duration = Duration::from_mins(10);

/// Lists the namespaces that have workers or trainers.
type ListNamespaces = Box<dyn Fn() -> BTreeSet<String> + Send + Sync>;

/// Clones share what they have published.
#[derive(Clone)]
pub struct CaDistributor(Arc<Distributor>);

struct Distributor {
    client: Client,
    namespaces: ListNamespaces,
    /// The bundle that was published last.
    authorities: SharedAuthorities,
    /// `None` unless this operator issues client certificates.
    certificates: Option<ClientCertificates>,
    checked: Mutex<HashMap<String, CheckedConfigMap>>,
}

/// A `ConfigMap` that had this bundle.
#[derive(Clone)]
struct CheckedConfigMap {
    bundle: Arc<str>,
    at: Instant,
}

impl CaDistributor {
    /// `namespaces` lists those to publish in.
    pub fn new(client: Client, namespaces: impl Fn() -> BTreeSet<String> + Send + Sync + 'static) -> Self {
        Self::with_certificates(client, namespaces, None)
    }

    /// The same for an operator that issues client certificates too.
    pub fn with_certificates(
        client: Client,
        namespaces: impl Fn() -> BTreeSet<String> + Send + Sync + 'static,
        certificates: Option<ClientCertificates>,
    ) -> Self {
        Self(Arc::new(Distributor {
            client,
            namespaces: Box::new(namespaces),
            authorities: SharedAuthorities::default(),
            certificates,
            checked: Mutex::default(),
        }))
    }

    pub fn authorities(&self) -> &SharedAuthorities {
        &self.0.authorities
    }

    /// Makes sure that Pods of this namespace can mount the authorities, and their certificate. Before there are any, it
    /// does nothing: the first publication includes the namespace.
    pub async fn ensure(&self, namespace: &str) -> Result<(), ApiError> {
        let bundle = self.0.authorities.pem();
        if !bundle.is_empty() {
            self.0.publish_in(namespace, &bundle).await?;
        }
        let Some(certificates) = &self.0.certificates else { return Ok(()) };
        match certificates.ensure(namespace).await {
            Err(IssueError::Api(error)) => Err(error),
            // The next refresh tries again and logs the problem.
            Err(IssueError::Certificate(_) | IssueError::Rotation(_)) | Ok(()) => Ok(()),
        }
    }

    /// Renews the client certificates that are due, if this operator issues some.
    pub(super) async fn issue_to_clients(
        &self,
        authorities: &AuthoritySet,
        published: bool,
    ) -> Result<(), IssueError> {
        match &self.0.certificates {
            Some(certificates) => certificates.refresh(authorities, published, &(self.0.namespaces)()).await,
            None => Ok(()),
        }
    }
}

impl PublishBundle for CaDistributor {
    /// Goes on after a namespace that refuses the `ConfigMap`, and returns its error.
    async fn publish(&self, bundle: &str) -> Result<BundleState, ApiError> {
        if *self.0.authorities.pem() != *bundle {
            self.0.authorities.replace(bundle);
        }
        let (bundle, namespaces) = (self.0.authorities.pem(), (self.0.namespaces)());
        self.0.checked().retain(|namespace, _| namespaces.contains(namespace));
        let (mut written, mut failed) = (false, None);
        for namespace in namespaces {
            match self.0.publish_in(&namespace, &bundle).await {
                Ok(wrote) => written |= wrote,
                // The other namespaces would fail in the same way, each after the same time.
                Err(error @ (ApiError::TimedOut { .. } | ApiError::NotLeading { .. })) => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => Err(error),
            None if written => Ok(BundleState::Written),
            None => Ok(BundleState::UpToDate),
        }
    }
}

impl Distributor {
    /// Returns whether the `ConfigMap` was written.
    async fn publish_in(&self, namespace: &str, bundle: &Arc<str>) -> Result<bool, ApiError> {
        let fresh = self
            .checked()
            .get(namespace)
            .is_some_and(|checked| checked.bundle == *bundle && checked.at.elapsed() < RECHECK_INTERVAL);
        if fresh {
            return Ok(false);
        }
        let key = ObjectKey::new(namespace.to_owned(), CA_CONFIG_MAP.to_owned());
        let live =
            requests::read::<ConfigMap>(&self.client, "read the ConfigMap with the controller's CA", &key);
        let live = live.await?;
        let written = !live.as_ref().is_some_and(|live| has_bundle(live, bundle));
        if written {
            let identity = live.as_ref().map(|live| ObjectIdentity {
                key: key.clone(),
                uid: live.uid().unwrap_or_default(),
                version: live.resource_version().unwrap_or_default(),
            });
            let to = identity.as_ref().map_or(ApplyTo::New, ApplyTo::Existing);
            let action = "write the ConfigMap with the controller's CA";
            requests::apply::<ConfigMap>(&self.client, action, &key, config_map(&key, bundle), to).await?;
            tracing::info!(
                namespace,
                config_map = CA_CONFIG_MAP,
                "published the controller's certificate authorities"
            );
        }
        let checked = CheckedConfigMap { bundle: Arc::clone(bundle), at: Instant::now() };
        self.checked().insert(namespace.to_owned(), checked);
        Ok(written)
    }

    fn checked(&self) -> MutexGuard<'_, HashMap<String, CheckedConfigMap>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CaDistributor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaDistributor").finish_non_exhaustive()
    }
}

fn has_bundle(live: &ConfigMap, bundle: &str) -> bool {
    live.data.as_ref().and_then(|data| data.get(CA_KEY)).is_some_and(|live| live == bundle)
}

fn config_map(key: &ObjectKey, bundle: &str) -> Map<String, Value> {
    let ObjectKey { namespace, name } = key;
    let labels = json!({
        "app.kubernetes.io/part-of": "vmafx",
        "app.kubernetes.io/managed-by": crate::FIELD_MANAGER,
    });
    let fields = [
        ("apiVersion", json!("v1")),
        ("kind", json!("ConfigMap")),
        ("metadata", json!({ "name": name, "namespace": namespace, "labels": labels })),
        ("data", json!({ CA_KEY: bundle })),
    ];
    fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
}
