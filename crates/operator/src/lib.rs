//! Reconciles the custom resources of VMAFX into workloads, submissions and status.
//!
//! | module         | holds                                                                                     |
//! |----------------|-------------------------------------------------------------------------------------------|
//! | [`settings`], [`controllers`] | environment variables and command line; which kinds are reconciled         |
//! | [`start`], `watches` | from settings to a running operator; every watched kind                             |
//! | [`runtime`]    | watches, caches, the work queue and the workers that take from it                         |
//! | [`client`]     | the client for the API server: deadlines, metrics, and the gate that every write passes   |
//! | [`lease`]      | leader election                                                                           |
//! | [`job`], [`node`], [`training`] | the reconcilers: observe, plan, apply, status                            |
//! | [`workload`]   | the StatefulSet of a node or training with its Service and disruption budget              |
//! | [`render`]     | what all rendered objects have in common                                                  |
//! | [`template_policy`] | which accounts, Secrets and tokens a Pod template may use                            |
//! | [`webhook`]    | the admission webhooks                                                                    |
//! | [`authority`]  | a certificate authority of the operator: storage and rotation                             |
//! | [`controller_tls`] | the certificates of the controller and its clients, and their authorities             |
//! | [`http_client`]| the client that probes the controller and polls trainers                                  |
//! | [`crds`]       | installs the custom resource definitions                                                  |
//! | [`rbac`], [`reserved`] | the operator's permissions, and the names that users may not set, each in one table |
//! | [`events`], [`conditions`], [`status`] | events, conditions and the write of a status                      |

pub mod authority;
pub mod client;
pub mod cluster;
pub mod conditions;
pub mod controller_tls;
pub mod controllers;
pub mod crds;
pub mod error;
pub mod events;
pub mod http_client;
pub mod job;
pub mod key;
pub mod lease;
pub mod node;
mod quantity;
pub mod rbac;
pub mod render;
pub mod reserved;
pub mod runtime;
pub mod settings;
pub mod start;
pub mod status;
pub mod template_policy;
pub mod training;
mod watches;
pub mod webhook;
pub mod workload;

/// Field manager of everything that the operator writes.
pub const FIELD_MANAGER: &str = "vmafx-operator";
