//! The queue over gRPC and HTTP.
//!
//! | module          | holds                                                                             |
//! |-----------------|-----------------------------------------------------------------------------------|
//! | [`service`]     | every operation, in the words of the domain                                       |
//! | [`grpc`]        | both services over gRPC                                                           |
//! | [`auth`]        | who calls, and whether they may                                                   |
//! | [`roots`]       | where clips may lie                                                               |
//! | [`background`]  | what goes on without being asked                                                  |
//! | [`http`]        | the queue for people with curl                                                    |
//! | [`settings`]    | what the environment tells                                                        |
//! | [`start`]       | from settings to a controller that serves                                         |
//! | `dispatch`      | pulls that wait for work                                                          |
//! | `live`          | who waits for something to happen to jobs                                         |
//! | [`metrics`]     | what is counted                                                                   |
//! | [`identity`]    | who calls                                                                         |
//! | [`node_status`] | heartbeats, shown on the resources                                                |
//! | [`refusal`]     | why a call is refused, and how both protocols say it                              |

pub mod auth;
pub mod background;
mod dispatch;
pub mod grpc;
pub mod http;
pub mod identity;
mod live;
pub mod metrics;
pub mod node_status;
pub mod refusal;
pub mod roots;
pub mod service;
pub mod settings;
pub mod start;
