//! All tenants at one moment. Each call uses one snapshot from start to end.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use vmafx_queue::TenantId;

use super::document::TenantDocument;
use super::tenant::{OidcRules, Tenant};
use super::verdict::{JudgedDocument, TenantVerdict};
use crate::auth::jwks::KeyCache;

/// A tenant as a candidate for the tokens of its issuer.
pub(super) struct IssuerMember {
    pub(super) tenant: Arc<Tenant>,
    pub(super) oidc: OidcRules,
    pub(super) keys: Arc<KeyCache>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamespaceOwner {
    Tenant(TenantId),
    /// Several tenants list the namespace, or the one that does is invalid.
    Nobody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TenantStanding {
    Enabled,
    Suspended,
    /// It is declared, and its declaration cannot be used.
    Unusable,
    Undeclared,
}

#[derive(Default)]
pub(crate) struct Snapshot {
    tenants: HashMap<TenantId, Arc<Tenant>>,
    by_issuer: HashMap<String, Vec<IssuerMember>>,
    owners: HashMap<String, NamespaceOwner>,
    /// The names of all documents, also of those that cannot be used.
    declared: HashSet<String>,
    pub(super) documents: Vec<TenantDocument>,
    pub(super) verdicts: Vec<TenantVerdict>,
    pub(super) generation: u64,
}

impl Snapshot {
    /// `keys` returns the key cache of a tenant's endpoint.
    pub(super) fn new(
        documents: Vec<TenantDocument>,
        judged: Vec<JudgedDocument>,
        generation: u64,
        mut keys: impl FnMut(&OidcRules) -> Arc<KeyCache>,
    ) -> Self {
        let mut snapshot = Self { generation, ..Self::default() };
        for (document, JudgedDocument { tenant, verdict }) in documents.iter().zip(judged) {
            snapshot.declared.extend(document.tenant_id().map(str::to_owned));
            let usable = !matches!(verdict, TenantVerdict::Invalid(_) | TenantVerdict::IdTaken { .. });
            let tenant = tenant.filter(|_| usable).map(Arc::new);
            for namespace in document.namespaces() {
                let owner = match &tenant {
                    Some(tenant) if !snapshot.owners.contains_key(namespace) => {
                        NamespaceOwner::Tenant(tenant.id.clone())
                    }
                    _ => NamespaceOwner::Nobody,
                };
                snapshot.owners.insert(namespace.to_owned(), owner);
            }
            if let Some(tenant) = tenant {
                if let Some(oidc) = tenant.oidc.clone() {
                    let member = IssuerMember { keys: keys(&oidc), tenant: Arc::clone(&tenant), oidc };
                    snapshot.by_issuer.entry(member.oidc.issuer.clone()).or_default().push(member);
                }
                snapshot.tenants.insert(tenant.id.clone(), tenant);
            }
            snapshot.verdicts.push(verdict);
        }
        Self { documents, ..snapshot }
    }

    /// The candidates for a token of this issuer.
    pub(super) fn members(&self, issuer: &str) -> Option<&[IssuerMember]> {
        self.by_issuer.get(issuer).map(Vec::as_slice)
    }

    /// The key caches by endpoint.
    pub(super) fn key_caches(&self) -> HashMap<String, Arc<KeyCache>> {
        let members = self.by_issuer.values().flatten();
        members.map(|member| (member.keys.endpoint().to_owned(), Arc::clone(&member.keys))).collect()
    }

    /// `None` for a tenant that is not declared, or cannot be used.
    pub(super) fn tenant(&self, id: &TenantId) -> Option<Arc<Tenant>> {
        self.tenants.get(id).cloned()
    }

    pub(super) fn tenant_count(&self) -> usize {
        self.tenants.len()
    }

    pub(crate) fn standing(&self, id: &TenantId) -> TenantStanding {
        match self.tenants.get(id) {
            Some(tenant) if tenant.enabled => TenantStanding::Enabled,
            Some(_) => TenantStanding::Suspended,
            None if self.declared.contains(id.as_str()) => TenantStanding::Unusable,
            None => TenantStanding::Undeclared,
        }
    }

    /// The namespaces that belong to a tenant.
    pub(crate) fn namespaces_of(&self, id: &TenantId) -> BTreeSet<String> {
        let of_tenant = |(name, owner): (&String, &NamespaceOwner)| {
            (*owner == NamespaceOwner::Tenant(id.clone())).then(|| name.clone())
        };
        self.owners.iter().filter_map(of_tenant).collect()
    }

    /// `None` if no tenant lists the namespace.
    pub(crate) fn owner(&self, namespace: &str) -> Option<&NamespaceOwner> {
        self.owners.get(namespace)
    }
}
