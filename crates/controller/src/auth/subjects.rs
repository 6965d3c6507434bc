//! Roles of subjects whose tokens cannot carry any, such as Kubernetes service accounts.
//!
//! The setting is a list such as
//! `system:serviceaccount:vmafx:vmafx-node=vmafx:node,system:serviceaccount:ci:runner=vmafx:writer`, with `+` between
//! several roles, or the path of a file:
//!
//! ```yaml
//! subjects:
//!   - subject: system:serviceaccount:vmafx:vmafx-node
//!     roles: [vmafx:node]
//!     tenant: studio      # default: VMAFX_AUTH_DEFAULT_TENANT
//! ```
//!
//! `system:serviceaccount:*:vmafx-node` is the ServiceAccount of that name in every namespace. It needs a tenant for each
//! namespace, because whoever may create `ServiceAccounts` in any namespace would otherwise be a node of all of them.

use std::collections::HashMap;

use serde::Deserialize;
use vmafx_queue::TenantId;

use super::namespaces::{NamespaceTenants, is_namespace};
use super::principal::Membership;
use super::static_tokens::parse_roles;
use crate::identity::{Roles, service_account};

const NO_TENANT: &str =
    "it has no tenant: set VMAFX_AUTH_DEFAULT_TENANT, or use a file that names its tenant";

const ANY_NAMESPACE: &str = "*";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectFile {
    subjects: Vec<SubjectEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectEntry {
    subject: String,
    roles: Vec<String>,
    tenant: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SubjectGrant {
    pub(super) membership: Membership,
    pub(super) roles: Roles,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Subjects {
    by_subject: HashMap<String, SubjectGrant>,
    /// Roles of the `ServiceAccounts` of a name in every namespace, each in the tenant of its namespace.
    in_any_namespace: HashMap<String, Roles>,
}

impl Subjects {
    pub(super) fn parse_list(text: &str, default: Option<&NamespaceTenants>) -> Result<Self, String> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(|entry| {
            let (subject, roles) = entry
                .rsplit_once('=')
                .ok_or_else(|| format!("{entry:?} is not an entry; use SUBJECT=ROLE, as in x=vmafx:node"))?;
            let roles = roles.split('+').map(|role| role.trim().to_owned()).collect();
            Ok(SubjectEntry { subject: subject.trim().to_owned(), roles, tenant: None })
        });
        Self::from_entries(entries.collect::<Result<_, String>>()?, default)
    }

    pub(super) fn parse_file(text: &str, default: Option<&NamespaceTenants>) -> Result<Self, String> {
        let file: SubjectFile = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        Self::from_entries(file.subjects, default)
    }

    /// An entry for the subject itself takes precedence over one for every namespace.
    pub(super) fn get(&self, subject: &str) -> Option<SubjectGrant> {
        if let Some(grant) = self.by_subject.get(subject) {
            return Some(grant.clone());
        }
        let (namespace, account) = service_account(subject)?;
        let roles = *self.in_any_namespace.get(account).filter(|_| is_namespace(namespace))?;
        Some(SubjectGrant { membership: Membership::Namespace(namespace.to_owned()), roles })
    }

    fn from_entries(entries: Vec<SubjectEntry>, default: Option<&NamespaceTenants>) -> Result<Self, String> {
        let mut subjects = Self::default();
        for entry in entries {
            let subject = entry.subject.clone();
            if subject.is_empty() {
                return Err("a subject is empty".to_owned());
            }
            subjects.add(entry, default).map_err(|problem| format!("{subject:?}: {problem}"))?;
        }
        Ok(subjects)
    }

    fn add(&mut self, entry: SubjectEntry, default: Option<&NamespaceTenants>) -> Result<(), String> {
        let SubjectEntry { subject, roles, tenant } = entry;
        let roles = parse_roles(&roles)?;
        let account = service_account(&subject);
        let is_new = if let Some((ANY_NAMESPACE, account)) = account {
            if account == "default" {
                return Err(
                    "every Pod without a ServiceAccount of its own is this subject: name another one"
                        .to_owned(),
                );
            }
            let shared = !matches!(default, Some(NamespaceTenants::Each | NamespaceTenants::Declared));
            if tenant.is_some() || shared {
                return Err("every namespace needs a tenant of its own: set VMAFX_AUTH_DEFAULT_TENANT={namespace}, and \
                            name no tenant here"
                    .to_owned());
            }
            self.in_any_namespace.insert(account.to_owned(), roles).is_none()
        } else {
            let membership = match (tenant, default, account) {
                (Some(name), ..) => {
                    Membership::Tenant(TenantId::new(&name).map_err(|error| format!("tenant: {error}"))?)
                }
                (None, Some(_), Some((namespace, _))) => Membership::Namespace(namespace.to_owned()),
                (None, Some(NamespaceTenants::One(tenant)), None) => Membership::Tenant(tenant.clone()),
                (None, Some(NamespaceTenants::Each | NamespaceTenants::Declared), None) => {
                    return Err(
                        "it is in no namespace, so it has no tenant: use a file that names its tenant"
                            .to_owned(),
                    );
                }
                (None, None, _) => return Err(NO_TENANT.to_owned()),
            };
            if let Membership::Namespace(namespace) = &membership
                && !is_namespace(namespace)
            {
                return Err("it is no subject of a ServiceAccount".to_owned());
            }
            self.by_subject.insert(subject, SubjectGrant { membership, roles }).is_none()
        };
        if is_new { Ok(()) } else { Err("it is listed twice".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::identity::Role;

    const NODE: &str = "system:serviceaccount:vmafx:vmafx-node";

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name).unwrap()
    }

    fn one(name: &str) -> NamespaceTenants {
        NamespaceTenants::One(tenant(name))
    }

    #[test]
    fn a_list_and_a_file_say_the_same() {
        let roles = Roles::of(&[Role::Node, Role::Reader]);
        let expected = SubjectGrant { membership: Membership::Namespace("vmafx".to_owned()), roles };
        let list = format!("{NODE}=vmafx:node+vmafx:reader, ");
        let list = Subjects::parse_list(&list, Some(&one("t"))).unwrap();
        assert_eq!(list.get(NODE), Some(expected));
        assert_eq!(list.get("other"), None);
        let file = format!("subjects: [{{subject: '{NODE}', roles: ['vmafx:node', 'vmafx:reader']}}]");
        assert_eq!(Subjects::parse_file(&file, Some(&one("t"))).unwrap(), list);
    }

    #[test]
    fn a_tenant_in_the_file_takes_precedence_over_that_of_the_namespace() {
        let file = format!("subjects: [{{subject: '{NODE}', roles: ['vmafx:node'], tenant: t}}]");
        let subjects = Subjects::parse_file(&file, Some(&NamespaceTenants::Each)).unwrap();
        let grant = subjects.get(NODE).map(|grant| grant.membership);
        assert_eq!(grant, Some(Membership::Tenant(tenant("t"))));
    }

    #[rstest]
    #[case::no_form("x", "is not an entry; use SUBJECT=ROLE")]
    #[case::no_role("x=", "\"\" is not one of")]
    #[case::other_role("x=node", "\"node\" is not one of")]
    #[case::no_subject("=vmafx:node", "a subject is empty")]
    #[case::twice("x=vmafx:node,x=vmafx:admin", "\"x\": it is listed twice")]
    fn a_bad_list_is_refused(#[case] text: &str, #[case] expected: &str) {
        let problem = Subjects::parse_list(text, Some(&one("t"))).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }

    #[test]
    fn a_subject_without_a_tenant_is_refused_with_the_remedy() {
        let problem = Subjects::parse_list("x=vmafx:node", None).unwrap_err();
        assert!(problem.contains("VMAFX_AUTH_DEFAULT_TENANT"), "{problem}");
    }

    #[test]
    fn an_account_of_every_namespace_has_the_tenant_of_its_namespace() {
        let list = "system:serviceaccount:*:worker=vmafx:node,system:serviceaccount:farm:worker=vmafx:reader";
        let subjects = Subjects::parse_list(list, Some(&NamespaceTenants::Each)).unwrap();
        let grant = |subject: &str| match subjects.get(subject)?.membership {
            Membership::Namespace(namespace) => Some((namespace, subjects.get(subject)?.roles)),
            Membership::Tenant(tenant) => panic!("{tenant}"),
        };
        let node = Roles::of(&[Role::Node]);
        assert_eq!(grant("system:serviceaccount:a:worker"), Some(("a".to_owned(), node)));
        assert_eq!(grant("system:serviceaccount:b:worker"), Some(("b".to_owned(), node)));
        let own = Some(("farm".to_owned(), Roles::of(&[Role::Reader])));
        assert_eq!(grant("system:serviceaccount:farm:worker"), own, "its own entry takes precedence");
        for stranger in ["system:serviceaccount:a:default", "worker", "system:serviceaccount:*:worker", "*"] {
            assert_eq!(grant(stranger), None, "{stranger}");
        }
    }

    #[rstest]
    #[case::one_tenant("system:serviceaccount:*:w=vmafx:node", one("t"), "needs a tenant of its own")]
    #[case::default("system:serviceaccount:*:default=vmafx:node", NamespaceTenants::Each, "name another one")]
    #[case::no_account("alice=vmafx:reader", NamespaceTenants::Each, "it is in no namespace")]
    fn an_entry_without_a_tenant_of_its_own_is_refused(
        #[case] list: &str,
        #[case] default: NamespaceTenants,
        #[case] expected: &str,
    ) {
        let problem = Subjects::parse_list(list, Some(&default)).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }
}
