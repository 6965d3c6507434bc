//! Service accounts with given roles, and kubeconfigs for them.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cluster::{ClusterError, TestCluster};
use super::kubeconfig;

/// Lifetime of tokens, longer than any test.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("the manifest contains no valid roles: {0}")]
    Roles(String),
    #[error("cannot reach the cluster")]
    Cluster(#[from] ClusterError),
    #[error("cannot create the account: the API server refused {what}")]
    Refused {
        what: String,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("cannot write the kubeconfig {}", .path.display())]
    Kubeconfig {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The permissions of an account.
#[derive(Debug, Clone)]
pub enum Grant {
    /// A cluster role for all namespaces, which is created or updated.
    Cluster(ClusterRole),
    /// A role in the account's namespace, which is created or updated.
    Namespace(Role),
    /// An existing cluster role, for all namespaces.
    Existing(String),
}

impl Grant {
    pub fn everything() -> Self {
        Self::Existing("cluster-admin".to_owned())
    }

    /// The roles of a manifest, which may also contain objects of other kinds.
    pub fn from_yaml(text: &str) -> Result<Vec<Self>, AccountError> {
        let invalid = |error: &dyn std::fmt::Display| AccountError::Roles(error.to_string());
        let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| invalid(&error))?;
        let mut grants = Vec::new();
        for document in documents {
            let kind = document["kind"].as_str().unwrap_or_default().to_owned();
            let read = || -> Result<_, serde_json::Error> {
                Ok(match kind.as_str() {
                    "ClusterRole" => Some(Self::Cluster(serde_json::from_value(document)?)),
                    "Role" => Some(Self::Namespace(serde_json::from_value(document)?)),
                    _ => None,
                })
            };
            grants.extend(read().map_err(|error| invalid(&error))?);
        }
        if grants.is_empty() { Err(invalid(&"it contains no role")) } else { Ok(grants) }
    }

    /// The rules of the role; empty for an existing one.
    pub fn rules(&self) -> &[PolicyRule] {
        let rules = match self {
            Self::Cluster(role) => role.rules.as_deref(),
            Self::Namespace(role) => role.rules.as_deref(),
            Self::Existing(_) => None,
        };
        rules.unwrap_or_default()
    }
}

#[derive(Debug, Clone)]
pub struct TestServiceAccount {
    namespace: String,
    name: String,
    token: String,
    authority_pem: String,
}

impl TestServiceAccount {
    /// Creates an account with these permissions and no others.
    pub async fn create(
        cluster: &TestCluster,
        namespace: &str,
        name: &str,
        grants: &[Grant],
    ) -> Result<Self, AccountError> {
        let client = cluster.client()?;
        let account = ServiceAccount { metadata: named(name), ..ServiceAccount::default() };
        apply(&in_namespace(&client, namespace), &account).await?;
        for grant in grants {
            bind(&client, namespace, name, grant).await?;
        }
        let accounts = Api::<ServiceAccount>::namespaced(client, namespace);
        let spec =
            TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let response = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .map_err(|source| refused("token", name, source))?;
        let authorities = cluster.config().root_cert.as_deref().unwrap_or_default();
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            token: response.status.and_then(|status| status.token).unwrap_or_default(),
            authority_pem: authorities.iter().map(|der| pem(der)).collect(),
        })
    }

    /// Its user name, as in the audit log.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// The certificate authority of the API server.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// Writes a kubeconfig for it; `server` is the address of the cluster or of a proxy in front of it.
    pub fn write_kubeconfig(&self, path: &Path, server: &str) -> Result<(), AccountError> {
        kubeconfig::write_for_token(path, server, &self.authority_pem, &self.token)
            .map_err(|source| AccountError::Kubeconfig { path: path.to_owned(), source })
    }
}

async fn bind(client: &Client, namespace: &str, account: &str, grant: &Grant) -> Result<(), AccountError> {
    let subject = Subject {
        kind: "ServiceAccount".to_owned(),
        name: account.to_owned(),
        namespace: Some(namespace.to_owned()),
        ..Subject::default()
    };
    let subjects = Some(vec![subject]);
    let (kind, role) = match grant {
        Grant::Cluster(role) => {
            apply(&Api::all(client.clone()), role).await?;
            ("ClusterRole", role.name_any())
        }
        Grant::Namespace(role) => {
            let mut role = role.clone();
            role.metadata.namespace = Some(namespace.to_owned());
            apply(&in_namespace(client, namespace), &role).await?;
            ("Role", role.name_any())
        }
        Grant::Existing(name) => ("ClusterRole", name.clone()),
    };
    let api_group = Some("rbac.authorization.k8s.io".to_owned());
    let role_ref = RoleRef { api_group, kind: kind.to_owned(), name: role.clone() };
    if kind == "Role" {
        let metadata = named(&format!("{account}-{role}"));
        let binding = RoleBinding { metadata, role_ref, subjects };
        apply(&in_namespace(client, namespace), &binding).await
    } else {
        let metadata = named(&format!("{namespace}-{account}-{role}"));
        let binding = ClusterRoleBinding { metadata, role_ref, subjects };
        apply(&Api::all(client.clone()), &binding).await
    }
}

fn in_namespace<K>(client: &Client, namespace: &str) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(client.clone(), namespace)
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

/// Creates or updates an object; several tests may do so at the same time.
async fn apply<K>(api: &Api<K>, object: &K) -> Result<(), AccountError>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let params = PatchParams::apply("vmafx-testkit").force();
    let name = object.name_any();
    let applied = api.patch(&name, &params, &Patch::Apply(object)).await;
    applied.map(drop).map_err(|source| refused(&K::kind(&()), &name, source))
}

fn refused(kind: &str, name: &str, source: kube::Error) -> AccountError {
    AccountError::Refused { what: format!("{kind} {name}"), source: Box::new(source) }
}

/// A certificate as PEM, in lines of 64 characters.
fn pem(der: &[u8]) -> String {
    const LINE_LENGTH: usize = 64;
    let text = STANDARD.encode(der);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(LINE_LENGTH.min(rest.len()));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_of_a_manifest_are_found_among_other_objects() {
        let grants = Grant::from_yaml(
            "kind: ServiceAccount\nmetadata: {name: a}\n---\n\
             kind: ClusterRole\nmetadata: {name: b}\nrules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n---\n\
             kind: Role\nmetadata: {name: c}\nrules: []\n",
        )
        .unwrap();
        assert!(matches!(&grants[..], [Grant::Cluster(_), Grant::Namespace(_)]), "{grants:?}");
        assert_eq!(grants[0].rules()[0].verbs, ["get"]);
        assert!(Grant::from_yaml("kind: Pod\n").is_err());
    }
}
