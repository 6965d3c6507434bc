//! Jobs and nodes off the wire, as people and programs read them.
//!
//! Programs get the shapes of the controller's HTTP interface, so that a script can go from one to the other.

pub(crate) mod age;
pub(crate) mod job;
pub(crate) mod node;
