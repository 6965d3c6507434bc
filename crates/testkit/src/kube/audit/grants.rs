//! The permissions of roles, compared with the requests that used them.

use std::fmt;

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::AuditEvent;

/// One permission of a role. Verbs and groups may be `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    Resource {
        verb: String,
        group: String,
        /// With the subresource after a slash, or `*`.
        resource: String,
        /// `None` permits all names.
        name: Option<String>,
    },
    Path {
        verb: String,
        /// A trailing `*` matches any suffix.
        path: String,
    },
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource { verb, group, resource, name } => {
                write!(f, "{verb} {resource}")?;
                if !group.is_empty() {
                    write!(f, ".{group}")?;
                }
                name.as_ref().map_or(Ok(()), |name| write!(f, " {name}"))
            }
            Self::Path { verb, path } => write!(f, "{verb} {path}"),
        }
    }
}

impl Permission {
    /// The individual permissions of a rule.
    pub fn of(rule: &PolicyRule) -> Vec<Self> {
        let empty = Vec::new();
        let names: Vec<_> = match rule.resource_names.as_deref() {
            None | Some([]) => vec![None],
            Some(names) => names.iter().cloned().map(Some).collect(),
        };
        let mut all = Vec::new();
        for verb in &rule.verbs {
            for path in rule.non_resource_urls.as_ref().unwrap_or(&empty) {
                all.push(Self::Path { verb: verb.clone(), path: path.clone() });
            }
            for group in rule.api_groups.as_ref().unwrap_or(&empty) {
                for resource in rule.resources.as_ref().unwrap_or(&empty) {
                    all.extend(names.iter().cloned().map(|name| Self::Resource {
                        verb: verb.clone(),
                        group: group.clone(),
                        resource: resource.clone(),
                        name,
                    }));
                }
            }
        }
        all
    }

    /// Whether this permission was needed for a request. A patch that created an object needed `create` too, which the
    /// API server checks without logging it.
    pub fn covers(&self, event: &AuditEvent) -> bool {
        let matches = |rule: &str, value: &str| rule == "*" || rule == value;
        let created = event.verb == "patch" && event.code == 201;
        match self {
            Self::Path { verb, path } => {
                let asked = event.uri.split('?').next().unwrap_or_default();
                let path_matches =
                    path.strip_suffix('*').map_or(asked == path, |start| asked.starts_with(start));
                event.resource.is_empty() && matches(verb, &event.verb) && path_matches
            }
            Self::Resource { verb, group, resource, name } => {
                let asked = match event.subresource.as_str() {
                    "" => event.resource.clone(),
                    subresource => format!("{}/{subresource}", event.resource),
                };
                !event.resource.is_empty()
                    && (matches(verb, &event.verb) || (created && verb == "create"))
                    && matches(group, &event.group)
                    && matches(resource, &asked)
                    && name.as_ref().is_none_or(|name| *name == event.name)
            }
        }
    }
}

/// The permissions of these rules that no event used.
pub fn never_used(rules: &[PolicyRule], events: &[AuditEvent]) -> Vec<Permission> {
    let all = rules.iter().flat_map(Permission::of);
    let mut unused: Vec<_> =
        all.filter(|permission| !events.iter().any(|event| permission.covers(event))).collect();
    unused.sort();
    unused.dedup();
    unused
}
