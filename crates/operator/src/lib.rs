//! Turns custom resources into workloads, submissions and status.
//!
//! | module         | holds                                                                               |
//! |----------------|-------------------------------------------------------------------------------------|
//! | [`settings`]   | what the environment says                                                           |
//! | [`start`]      | from settings to a running operator                                                 |
//! | [`runtime`]    | watches, caches, the queue of keys and the workers that take from it                |
//! | [`client`]     | the way to the API server: deadlines, counts, and the gate that every write passes  |
//! | [`lease`]      | which of several operators may write                                                |
//! | [`workload`]   | a StatefulSet for a resource: observe, decide, act                                  |
//! | [`job`]        | VmafxJob: what is asked of the controller or of Kubernetes, what its status says    |
//! | [`node`]       | VmafxNode: what is rendered for it, how healthy it is, what its status says         |
//! | [`training`]   | VmafxModelTraining: its trainer, what that says, what the status of the run says    |
//! | [`render`]     | what is the same in everything that is made for a resource                          |
//! | [`pod`]        | the parts of every Pod, and what users merge over them                              |
//! | [`webhook`]    | what is refused before it is stored                                                 |
//! | [`crds`]       | the definitions of our kinds, installed and brought up to date                      |
//! | [`rbac`], [`reserved`] | the permissions, and the names that are the operator's own, each in one table |
//! | [`events`], [`conditions`], [`status`] | what people read                                            |

pub mod client;
pub mod cluster;
pub mod conditions;
pub mod crds;
pub mod error;
pub mod events;
pub mod job;
pub mod key;
pub mod lease;
pub mod node;
pub mod pod;
mod quantity;
pub mod rbac;
pub mod render;
pub mod reserved;
pub mod runtime;
pub mod settings;
pub mod start;
pub mod status;
pub mod training;
mod watches;
pub mod webhook;
pub mod workload;

/// Under this name our fields are known to the API server.
pub const FIELD_MANAGER: &str = "vmafx-operator";
