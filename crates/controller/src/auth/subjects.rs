//! Roles of subjects whose tokens cannot carry any, such as Kubernetes service accounts.
//!
//! A list, as in `system:serviceaccount:vmafx:vmafx-node=vmafx:node,system:serviceaccount:ci:runner=vmafx:writer`,
//! with `+` between several roles; or the path of a file:
//!
//! ```yaml
//! subjects:
//!   - subject: system:serviceaccount:vmafx:vmafx-node
//!     roles: [vmafx:node]
//!     tenant: studio      # else VMAFX_AUTH_DEFAULT_TENANT
//! ```

use std::collections::HashMap;

use serde::Deserialize;
use vmafx_queue::TenantId;

use super::tokens::roles;
use crate::identity::Roles;

const NO_TENANT: &str = "it has no tenant: set VMAFX_AUTH_DEFAULT_TENANT, or use a file with a tenant each";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    subjects: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    subject: String,
    roles: Vec<String>,
    tenant: Option<String>,
}

/// What a subject is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) tenant: TenantId,
    pub(super) roles: Roles,
}

/// Subjects by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Subjects(HashMap<String, Mapped>);

impl Subjects {
    /// Reads the list.
    pub(super) fn list(text: &str, default: Option<&TenantId>) -> Result<Self, String> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(|entry| {
            let (subject, roles) = entry
                .rsplit_once('=')
                .ok_or_else(|| format!("{entry:?} is not of the form subject=role, as in x=vmafx:node"))?;
            let roles = roles.split('+').map(|role| role.trim().to_owned()).collect();
            Ok(Entry { subject: subject.trim().to_owned(), roles, tenant: None })
        });
        Self::of(entries.collect::<Result<_, String>>()?, default)
    }

    /// Reads the file.
    pub(super) fn file(text: &str, default: Option<&TenantId>) -> Result<Self, String> {
        let file: File = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        Self::of(file.subjects, default)
    }

    /// What the map has of a subject.
    pub(super) fn get(&self, subject: &str) -> Option<&Mapped> {
        self.0.get(subject)
    }

    fn of(entries: Vec<Entry>, default: Option<&TenantId>) -> Result<Self, String> {
        let mut subjects = HashMap::new();
        for Entry { subject, roles: names, tenant } in entries {
            if subject.is_empty() {
                return Err("a subject is empty".to_owned());
            }
            let about = |problem: String| format!("{subject:?}: {problem}");
            let tenant = match tenant {
                Some(name) => TenantId::new(&name).map_err(|error| about(format!("tenant: {error}")))?,
                None => default.cloned().ok_or_else(|| about(NO_TENANT.to_owned()))?,
            };
            let mapped = Mapped { tenant, roles: roles(&names).map_err(about)? };
            if subjects.insert(subject.clone(), mapped).is_some() {
                return Err(about("it is there twice".to_owned()));
            }
        }
        Ok(Self(subjects))
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

    #[test]
    fn a_list_and_a_file_say_the_same() {
        let expected = Mapped { tenant: tenant("t"), roles: Roles::of(&[Role::Node, Role::Reader]) };
        let list = format!("{NODE}=vmafx:node+vmafx:reader, ");
        let list = Subjects::list(&list, Some(&tenant("t"))).unwrap();
        assert_eq!(list.get(NODE), Some(&expected));
        assert_eq!(list.get("other"), None);
        let file =
            format!("subjects: [{{subject: '{NODE}', roles: ['vmafx:node', 'vmafx:reader'], tenant: t}}]");
        assert_eq!(Subjects::file(&file, None).unwrap(), list);
    }

    #[rstest]
    #[case::no_form("x", "is not of the form subject=role")]
    #[case::no_role("x=", "\"\" is not one of")]
    #[case::other_role("x=node", "\"node\" is not one of")]
    #[case::no_subject("=vmafx:node", "a subject is empty")]
    #[case::twice("x=vmafx:node,x=vmafx:admin", "\"x\": it is there twice")]
    fn a_bad_list_is_refused(#[case] text: &str, #[case] expected: &str) {
        let problem = Subjects::list(text, Some(&tenant("t"))).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }

    #[test]
    fn a_subject_without_a_tenant_is_refused_with_the_remedy() {
        let problem = Subjects::list("x=vmafx:node", None).unwrap_err();
        assert!(problem.contains("VMAFX_AUTH_DEFAULT_TENANT"), "{problem}");
    }
}
