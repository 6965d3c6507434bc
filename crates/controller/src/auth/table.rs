//! Who may call what. What is not here may be called by nobody.

mod grpc;
mod http;

pub use self::grpc::{grpc, grpc_methods};
pub use self::http::{HttpRoute, http, http_routes};
use crate::identity::{Role, Roles};

/// Who may call something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Everybody, known or not.
    Exempt,
    /// Whoever has one of these roles.
    Roles(Roles),
}

/// Those who look.
const LOOK: Entry = Entry::Roles(Roles::of(&[Role::Reader, Role::Writer, Role::Admin]));
/// Those who change something.
const CHANGE: Entry = Entry::Roles(Roles::of(&[Role::Writer, Role::Admin]));
/// Those who work. An admin is none of them.
const WORK: Entry = Entry::Roles(Roles::of(&[Role::Node]));

#[cfg(test)]
mod tests;
