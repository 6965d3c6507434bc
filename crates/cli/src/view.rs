//! Jobs and nodes as tables, JSON and YAML.
//!
//! JSON and YAML have the fields of the controller's HTTP API, so that a script can use either source.

pub(crate) mod age;
pub(crate) mod job;
pub(crate) mod node;
