//! Client certificates: a Secret in each namespace with workers or trainers, which their Pods mount.
//!
//! A certificate names its namespace and nothing else, by the URI `spiffe://vmafx.dev/ns/NAMESPACE`. Whoever may create
//! Pods in a namespace may mount each of its Secrets, so a narrower identity would hold against nobody there; and the name of
//! the Secret is the same everywhere, so that the operator needs permission for one name only.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Client, ResourceExt as _};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::certificate::{CertificateSubject, StoredCertificate, renewal_for};
use super::issue::IssueError;
use crate::authority::store::tls_secret;
use crate::authority::{AuthoritySet, CertificateClock, CertificateUsage, SignedCertificate};
use crate::client::requests::{self, ApplyTo};
use crate::error::ApiError;
use crate::key::ObjectKey;
use crate::runtime::ObjectIdentity;

/// Name of the Secret.
pub const CLIENT_SECRET: &str = "vmafx-client-tls";

/// The Secret is not watched, for the same reason as the `ConfigMap` with the authorities.
const RECHECK_INTERVAL: Duration = Duration::from_mins(10);

/// Clones share what they have issued.
#[derive(Clone)]
pub struct ClientCertificates(Arc<ClientIssuer>);

struct ClientIssuer {
    client: Client,
    clock: CertificateClock,
    /// `None` before the first refresh of the authorities.
    signer: Mutex<Option<ClientSigner>>,
    checked: Mutex<HashMap<String, CheckedSecret>>,
}

#[derive(Clone)]
struct ClientSigner {
    authorities: AuthoritySet,
    /// Whether everybody has the current authority.
    published: bool,
}

struct CheckedSecret {
    certificate: StoredCertificate,
    at: Instant,
}

impl ClientCertificates {
    pub fn new(client: Client, clock: CertificateClock) -> Self {
        Self(Arc::new(ClientIssuer { client, clock, signer: Mutex::default(), checked: Mutex::default() }))
    }

    /// Renews what is due in all these namespaces. It goes on after a namespace that refuses the Secret, and returns its
    /// error.
    pub async fn refresh(
        &self,
        authorities: &AuthoritySet,
        published: bool,
        namespaces: &BTreeSet<String>,
    ) -> Result<(), IssueError> {
        let signer = ClientSigner { authorities: authorities.clone(), published };
        *self.0.signer.lock().unwrap_or_else(PoisonError::into_inner) = Some(signer);
        self.0.checked().retain(|namespace, _| namespaces.contains(namespace));
        let mut result = Ok(());
        for namespace in namespaces {
            match self.ensure(namespace).await {
                // The other namespaces would fail in the same way, each after the same time.
                Err(error @ IssueError::Api(ApiError::TimedOut { .. } | ApiError::NotLeading { .. })) => {
                    return Err(error);
                }
                Err(error) => result = Err(error),
                Ok(()) => {}
            }
        }
        result
    }

    /// Makes sure that Pods of this namespace can mount a certificate. Before there is an authority, it does nothing: the
    /// first refresh includes the namespace.
    pub async fn ensure(&self, namespace: &str) -> Result<(), IssueError> {
        let signer = self.0.signer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match signer {
            Some(signer) => self.0.issue_in(namespace, &signer).await,
            None => Ok(()),
        }
    }
}

impl ClientIssuer {
    async fn issue_in(&self, namespace: &str, signer: &ClientSigner) -> Result<(), IssueError> {
        let ClientSigner { authorities, published } = signer;
        let names = [client_uri(namespace)];
        let (now, subject) =
            (self.clock.now(), CertificateSubject { usage: CertificateUsage::Client, names: &names });
        let reason = |stored: Option<&StoredCertificate>| {
            renewal_for(stored, subject, authorities, now.time, *published)
        };
        let fresh = self.checked().get(namespace).is_some_and(|checked| {
            checked.at.elapsed() < RECHECK_INTERVAL && reason(Some(&checked.certificate)).is_none()
        });
        if fresh {
            return Ok(());
        }
        let key = ObjectKey::new(namespace.to_owned(), CLIENT_SECRET.to_owned());
        let mut live = requests::read::<Secret>(&self.client, "read the client certificate", &key).await?;
        let mut stored = live.as_ref().and_then(StoredCertificate::parse);
        if let Some(reason) = reason(stored.as_ref()) {
            let certificate = authorities.current.sign_for(subject.usage, &names, now)?;
            let identity = live.as_ref().map(|live| ObjectIdentity {
                key: key.clone(),
                uid: live.uid().unwrap_or_default(),
                version: live.resource_version().unwrap_or_default(),
            });
            let to = identity.as_ref().map_or(ApplyTo::New, ApplyTo::Existing);
            let body = secret(&key, live.take(), &certificate);
            let written =
                requests::apply::<Secret>(&self.client, "write the client certificate", &key, body, to);
            stored = StoredCertificate::parse(&written.await?);
            tracing::info!(
                namespace,
                secret = CLIENT_SECRET,
                ?reason,
                "issued a client certificate for the workers and trainers of a namespace"
            );
        }
        if let Some(certificate) = stored {
            self.checked().insert(namespace.to_owned(), CheckedSecret { certificate, at: Instant::now() });
        }
        Ok(())
    }

    fn checked(&self) -> MutexGuard<'_, HashMap<String, CheckedSecret>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ClientCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificates").finish_non_exhaustive()
    }
}

/// The identity in the certificate of a namespace.
pub fn client_uri(namespace: &str) -> String {
    format!("spiffe://vmafx.dev/ns/{namespace}")
}

/// The type of a Secret cannot be changed, so that of an existing one is kept.
fn secret(key: &ObjectKey, live: Option<Secret>, certificate: &SignedCertificate) -> Map<String, Value> {
    let ObjectKey { namespace, name } = key;
    let labels = json!({
        "app.kubernetes.io/part-of": "vmafx",
        "app.kubernetes.io/managed-by": crate::FIELD_MANAGER,
    });
    let data = [("tls.crt", &certificate.certificate_pem), ("tls.key", &certificate.key_pem)];
    let data: HashMap<_, _> =
        data.map(|(key, text)| (key, ByteString(text.clone().into_bytes()))).into_iter().collect();
    let fields = [
        ("apiVersion", json!("v1")),
        ("kind", json!("Secret")),
        ("metadata", json!({ "name": name, "namespace": namespace, "labels": labels })),
        ("type", json!(live.unwrap_or_else(|| tls_secret(name)).type_)),
        ("data", json!(data)),
    ];
    fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
}
