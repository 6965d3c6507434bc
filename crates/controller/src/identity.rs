//! Who calls, and what they may do.

use std::fmt;

use vmafx_queue::TenantId;

/// What somebody may do. Roles do not include each other: an admin is no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Looks.
    Reader,
    /// Submits, cancels, labels.
    Writer,
    /// Does both.
    Admin,
    /// Pulls work and reports.
    Node,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reader, Self::Writer, Self::Admin, Self::Node];

    /// Its name in a token.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reader => "vmafx:reader",
            Self::Writer => "vmafx:writer",
            Self::Admin => "vmafx:admin",
            Self::Node => "vmafx:node",
        }
    }

    /// The role of a name; names we do not know are no roles.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A set of roles.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Roles(u8);

impl Roles {
    /// Nothing may be done.
    pub const NONE: Self = Self(0);

    /// These.
    pub const fn of(roles: &[Role]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < roles.len() {
            bits |= 1 << roles[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// Whether one of them is among the others.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Those in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.meets(Self::of(&[*role])))
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

/// Somebody whose token was good. Stands in the extensions of every request behind the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Whose jobs they see.
    pub tenant: TenantId,
    /// Who, for logs.
    pub subject: String,
    /// What they may do.
    pub roles: Roles,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_sets() {
        let both = Roles::of(&[Role::Reader, Role::Node]);
        assert_eq!(both.iter().collect::<Vec<_>>(), [Role::Reader, Role::Node]);
        assert!(both.meets(Roles::of(&[Role::Node, Role::Admin])));
        assert!(!both.meets(Roles::of(&[Role::Writer])));
        assert_eq!(both.iter().collect::<Roles>(), both);
    }

    #[test]
    fn an_unknown_name_is_no_role() {
        assert_eq!(Role::from_name("vmafx:root"), None);
        assert_eq!(Role::from_name("vmafx:node"), Some(Role::Node));
    }
}
