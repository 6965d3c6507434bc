//! The queue over gRPC and HTTP.
//!
//! | module          | contains                                                                          |
//! |-----------------|-----------------------------------------------------------------------------------|
//! | [`service`]     | every operation, in terms of the domain                                           |
//! | [`grpc`]        | both gRPC services                                                                |
//! | [`http`]        | the HTTP API                                                                      |
//! | [`dashboard`]   | the pages of the dashboard                                                        |
//! | [`auth`]        | authentication and authorization                                                  |
//! | [`audit`]       | the audit log                                                                     |
//! | [`identity`]    | identity and roles of a caller                                                    |
//! | [`refusal`]     | why a call is refused                                                             |
//! | [`roots`]       | permitted locations of clips                                                      |
//! | [`pools`]       | nodes that serve several tenants, and the weights of the tenants                  |
//! | `dispatch`      | pulls that wait for work                                                          |
//! | `freed_room`    | pulls that wait for a limit                                                       |
//! | `streams`       | the streams that are open, and how many may be                                    |
//! | `subscriptions` | calls that wait for changes of jobs                                               |
//! | [`background`]  | notifications of the store, sweep, pruning                                        |
//! | [`node_status`] | heartbeats in the status of VmafxNode resources                                   |
//! | [`metrics`]     | metrics                                                                           |
//! | [`settings`]    | settings from environment and command line                                        |
//! | [`start`]       | starts the controller from its settings                                           |

pub mod audit;
pub mod auth;
pub mod background;
pub mod dashboard;
mod dispatch;
mod freed_room;
pub mod grpc;
pub mod http;
pub mod identity;
pub mod metrics;
pub mod node_status;
pub mod pools;
pub mod refusal;
pub mod roots;
pub mod service;
pub mod settings;
pub mod start;
mod streams;
mod subscriptions;
