//! What becomes of each document.
//!
//! | document                                               | verdict          | its namespaces           |
//! |--------------------------------------------------------|------------------|--------------------------|
//! | a field is invalid                                     | `Invalid`        | belong to nobody         |
//! | a valid one has the same `tenantId`                    | `IdTaken`        | belong to nobody         |
//! | another one, valid or not, lists one of its namespaces | `NamespaceTaken` | that one: to nobody      |
//! | `enabled` is false                                     | `Suspended`      | belong to it, are denied |
//! | else                                                   | `InForce`        | belong to it             |
//!
//! The first row that applies decides. A namespace that belongs to nobody is denied: it must not become part of another
//! tenant because of a mistake.

use std::collections::{BTreeMap, BTreeSet};

use vmafx_api::conditions::Reason;

use super::document::TenantDocument;
use super::tenant::{InvalidTenant, Tenant};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TenantVerdict {
    InForce,
    Suspended,
    Invalid(InvalidTenant),
    /// With the names of the other documents.
    IdTaken {
        id: String,
        by: Vec<String>,
    },
    /// The first of its namespaces that is listed elsewhere too.
    NamespaceTaken {
        namespace: String,
        by: Vec<String>,
    },
}

impl TenantVerdict {
    pub(super) fn reason(&self) -> Reason {
        match self {
            Self::InForce => Reason::TenantInForce,
            Self::Suspended => Reason::Suspended,
            Self::Invalid(_) => Reason::TenantInvalid,
            Self::IdTaken { .. } => Reason::TenantIdTaken,
            Self::NamespaceTaken { .. } => Reason::NamespaceTaken,
        }
    }

    /// `prefix` stands before the names of fields.
    pub(super) fn message(&self, prefix: &str) -> String {
        match self {
            Self::InForce => "the controllers use the tenant".to_owned(),
            Self::Suspended => {
                format!("{prefix}enabled is false: every call of the tenant's callers is denied")
            }
            Self::Invalid(InvalidTenant { field: "", problem }) => problem.clone(),
            Self::Invalid(InvalidTenant { field, problem }) => format!("{prefix}{field}: {problem}"),
            Self::IdTaken { id, by } => format!(
                "{prefix}tenantId: {id:?} is also the name of {}: none of them is used until each has a name of its own",
                by.join(", ")
            ),
            Self::NamespaceTaken { namespace, by } => format!(
                "{prefix}namespaces: {namespace:?} is also listed by {}: calls of the namespace are denied until one \
                 tenant alone lists it",
                by.join(", ")
            ),
        }
    }

    /// Whether somebody has to change the document.
    pub(super) fn is_problem(&self) -> bool {
        !matches!(self, Self::InForce | Self::Suspended)
    }
}

/// A document that became a tenant, whatever its verdict, or none.
pub(super) struct JudgedDocument {
    pub(super) tenant: Option<Tenant>,
    pub(super) verdict: TenantVerdict,
}

/// Judges all documents, in their order.
pub(super) fn judge(documents: &[TenantDocument]) -> Vec<JudgedDocument> {
    let parsed: Vec<_> = documents.iter().map(|document| Tenant::parse(&document.spec)).collect();
    let mut ids: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut claims: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (index, (document, tenant)) in documents.iter().zip(&parsed).enumerate() {
        if let Ok(tenant) = tenant {
            ids.entry(tenant.id.as_str()).or_default().push(index);
        }
        for namespace in document.namespaces() {
            claims.entry(namespace).or_default().insert(index);
        }
    }
    let verdict = |index: usize, document: &TenantDocument, tenant: &Result<Tenant, InvalidTenant>| {
        let tenant = match tenant {
            Ok(tenant) => tenant,
            Err(problem) => return TenantVerdict::Invalid(problem.clone()),
        };
        let name = |other: &usize| documents[*other].name.clone();
        let others: Vec<_> =
            ids[tenant.id.as_str()].iter().filter(|other| **other != index).map(name).collect();
        if !others.is_empty() {
            return TenantVerdict::IdTaken { id: tenant.id.to_string(), by: others };
        }
        let taken = document.namespaces().find(|namespace| claims[namespace].len() > 1);
        if let Some(namespace) = taken {
            let by = claims[namespace].iter().filter(|other| **other != index).map(name).collect();
            return TenantVerdict::NamespaceTaken { namespace: namespace.to_owned(), by };
        }
        if tenant.enabled { TenantVerdict::InForce } else { TenantVerdict::Suspended }
    };
    let verdicts: Vec<_> = (0..)
        .zip(documents)
        .zip(&parsed)
        .map(|((index, document), tenant)| verdict(index, document, tenant))
        .collect();
    let judged = parsed.into_iter().zip(verdicts);
    judged.map(|(tenant, verdict)| JudgedDocument { tenant: tenant.ok(), verdict }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn document(name: &str, id: &str, namespaces: &[&str]) -> TenantDocument {
        let spec = json!({"tenantId": id, "namespaces": namespaces, "oidc": {"issuer": "i", "jwksEndpoint": "https://i/k"}});
        TenantDocument { name: name.to_owned(), spec }
    }

    fn with(mut document: TenantDocument, field: &str, value: Value) -> TenantDocument {
        document.spec[field] = value;
        document
    }

    fn messages(documents: &[TenantDocument]) -> Vec<(&'static str, String)> {
        let shown =
            |judged: JudgedDocument| (judged.verdict.reason().as_str(), judged.verdict.message("spec."));
        judge(documents).into_iter().map(shown).collect()
    }

    #[test]
    fn a_good_tenant_is_in_force_beside_bad_ones() {
        let documents = [
            document("good", "good", &[]),
            document("one", "twice", &[]),
            document("bad", "BAD", &[]),
            document("two", "twice", &[]),
            with(document("off", "off", &[]), "enabled", json!(false)),
        ];
        let twice = |by: &str| {
            format!(
                "spec.tenantId: \"twice\" is also the name of {by}: none of them is used until each has a name of its own"
            )
        };
        let bad = "spec.tenantId: must be 2 to 64 lowercase letters, digits and inner hyphens";
        let off = "spec.enabled is false: every call of the tenant's callers is denied";
        assert_eq!(
            messages(&documents),
            [
                ("TenantInForce", "the controllers use the tenant".to_owned()),
                ("TenantIdTaken", twice("two")),
                ("TenantInvalid", bad.to_owned()),
                ("TenantIdTaken", twice("one")),
                ("Suspended", off.to_owned()),
            ]
        );
    }

    #[test]
    fn a_namespace_of_several_tenants_is_reported_by_each_that_is_valid() {
        let documents = [
            document("one", "one", &["a", "b"]),
            document("two", "two", &["b"]),
            document("bad", "BAD", &["a"]),
            document("three", "three", &["c"]),
        ];
        let reasons: Vec<_> = messages(&documents).into_iter().map(|(reason, _)| reason).collect();
        assert_eq!(reasons, ["NamespaceTaken", "NamespaceTaken", "TenantInvalid", "TenantInForce"]);
        assert_eq!(
            messages(&documents)[0].1,
            "spec.namespaces: \"a\" is also listed by bad: calls of the namespace are denied until one tenant alone lists it"
        );
    }
}
