//! The queue over gRPC and HTTP.
//!
//! | module          | holds                                                                             |
//! |-----------------|-----------------------------------------------------------------------------------|
//! | [`service`]     | every operation, in the words of the domain                                       |
//! | `dispatch`      | pulls that wait for work                                                          |
//! | `live`          | who waits for something to happen to jobs                                         |
//! | [`metrics`]     | what is counted                                                                   |
//! | [`identity`]    | who calls                                                                         |
//! | [`node_status`] | heartbeats, shown on the resources                                                |
//! | [`refusal`]     | why a call is refused, and how both protocols say it                              |

mod dispatch;
pub mod identity;
mod live;
pub mod metrics;
pub mod node_status;
pub mod refusal;
pub mod service;
