//! Identity and roles of a caller.

use std::fmt;

use vmafx_queue::TenantId;

/// Roles do not include each other: an admin cannot act as a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads jobs, nodes and samples.
    Reader,
    /// Submits, cancels and labels jobs, and reads.
    Writer,
    /// Has the permissions of a writer.
    Admin,
    /// Registers, pulls work and reports results.
    Node,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Reader, Self::Writer, Self::Admin, Self::Node];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Reader => "vmafx:reader",
            Self::Writer => "vmafx:writer",
            Self::Admin => "vmafx:admin",
            Self::Node => "vmafx:node",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Roles(u8);

impl Roles {
    pub const NONE: Self = Self(0);

    pub const fn of(roles: &[Role]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < roles.len() {
            bits |= 1 << roles[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.intersects(Self::of(&[*role])))
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        Self(roles.into_iter().fold(0, |bits, role| bits | Self::of(&[role]).0))
    }
}

impl fmt::Debug for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Whose issuer chose the subject of a caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubjectSource {
    /// The settings of the controller: their issuer, or the token file.
    #[default]
    Platform,
    /// An issuer that a declared tenant has for itself. It may choose any text, that of a ServiceAccount too.
    Tenant,
}

/// An authenticated caller; an extension of every request that passed the authorization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The caller sees the jobs of this tenant only.
    pub tenant: TenantId,
    /// For logs, and the owner of the caller's idempotency keys.
    pub subject: String,
    pub source: SubjectSource,
    pub roles: Roles,
    /// Whether the caller is the operator, which may call for any namespace.
    pub calls_for_namespaces: bool,
}

impl Identity {
    /// Namespace and name of the ServiceAccount whose token this caller has.
    pub fn service_account(&self) -> Option<(&str, &str)> {
        service_account(&self.subject).filter(|_| self.source == SubjectSource::Platform)
    }
}

/// Namespace and name of the ServiceAccount whose tokens have this subject.
pub(crate) fn service_account(subject: &str) -> Option<(&str, &str)> {
    subject.strip_prefix("system:serviceaccount:")?.split_once(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_sets() {
        let both = Roles::of(&[Role::Reader, Role::Node]);
        assert_eq!(both.iter().collect::<Vec<_>>(), [Role::Reader, Role::Node]);
        assert!(both.intersects(Roles::of(&[Role::Node, Role::Admin])));
        assert!(!both.intersects(Roles::of(&[Role::Writer])));
        assert_eq!(both.iter().collect::<Roles>(), both);
    }

    #[test]
    fn the_subject_of_a_service_account_names_its_namespace() {
        assert_eq!(service_account("system:serviceaccount:studio:worker"), Some(("studio", "worker")));
        assert_eq!(service_account("alice@example.com"), None);
    }

    #[test]
    fn an_unknown_name_is_no_role() {
        assert_eq!(Role::from_name("vmafx:root"), None);
        assert_eq!(Role::from_name("vmafx:node"), Some(Role::Node));
    }
}
