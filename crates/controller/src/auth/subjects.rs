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

use std::collections::HashMap;

use serde::Deserialize;
use vmafx_queue::TenantId;

use super::static_tokens::parse_roles;
use crate::identity::Roles;

const NO_TENANT: &str =
    "it has no tenant: set VMAFX_AUTH_DEFAULT_TENANT, or use a file that names its tenant";

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
    pub(super) tenant: TenantId,
    pub(super) roles: Roles,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Subjects(HashMap<String, SubjectGrant>);

impl Subjects {
    pub(super) fn parse_list(text: &str, default: Option<&TenantId>) -> Result<Self, String> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(|entry| {
            let (subject, roles) = entry
                .rsplit_once('=')
                .ok_or_else(|| format!("{entry:?} is not an entry; use SUBJECT=ROLE, as in x=vmafx:node"))?;
            let roles = roles.split('+').map(|role| role.trim().to_owned()).collect();
            Ok(SubjectEntry { subject: subject.trim().to_owned(), roles, tenant: None })
        });
        Self::from_entries(entries.collect::<Result<_, String>>()?, default)
    }

    pub(super) fn parse_file(text: &str, default: Option<&TenantId>) -> Result<Self, String> {
        let file: SubjectFile = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        Self::from_entries(file.subjects, default)
    }

    pub(super) fn get(&self, subject: &str) -> Option<&SubjectGrant> {
        self.0.get(subject)
    }

    fn from_entries(entries: Vec<SubjectEntry>, default: Option<&TenantId>) -> Result<Self, String> {
        let mut subjects = HashMap::new();
        for SubjectEntry { subject, roles: names, tenant } in entries {
            if subject.is_empty() {
                return Err("a subject is empty".to_owned());
            }
            let about = |problem: String| format!("{subject:?}: {problem}");
            let tenant = match tenant {
                Some(name) => TenantId::new(&name).map_err(|error| about(format!("tenant: {error}")))?,
                None => default.cloned().ok_or_else(|| about(NO_TENANT.to_owned()))?,
            };
            let grant = SubjectGrant { tenant, roles: parse_roles(&names).map_err(about)? };
            if subjects.insert(subject.clone(), grant).is_some() {
                return Err(about("it is listed twice".to_owned()));
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
        let expected = SubjectGrant { tenant: tenant("t"), roles: Roles::of(&[Role::Node, Role::Reader]) };
        let list = format!("{NODE}=vmafx:node+vmafx:reader, ");
        let list = Subjects::parse_list(&list, Some(&tenant("t"))).unwrap();
        assert_eq!(list.get(NODE), Some(&expected));
        assert_eq!(list.get("other"), None);
        let file =
            format!("subjects: [{{subject: '{NODE}', roles: ['vmafx:node', 'vmafx:reader'], tenant: t}}]");
        assert_eq!(Subjects::parse_file(&file, None).unwrap(), list);
    }

    #[rstest]
    #[case::no_form("x", "is not an entry; use SUBJECT=ROLE")]
    #[case::no_role("x=", "\"\" is not one of")]
    #[case::other_role("x=node", "\"node\" is not one of")]
    #[case::no_subject("=vmafx:node", "a subject is empty")]
    #[case::twice("x=vmafx:node,x=vmafx:admin", "\"x\": it is listed twice")]
    fn a_bad_list_is_refused(#[case] text: &str, #[case] expected: &str) {
        let problem = Subjects::parse_list(text, Some(&tenant("t"))).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }

    #[test]
    fn a_subject_without_a_tenant_is_refused_with_the_remedy() {
        let problem = Subjects::parse_list("x=vmafx:node", None).unwrap_err();
        assert!(problem.contains("VMAFX_AUTH_DEFAULT_TENANT"), "{problem}");
    }
}
