//! The queue over gRPC and HTTP.
//!
//! | module       | holds                                                                                |
//! |--------------|--------------------------------------------------------------------------------------|
//! | [`identity`] | who calls                                                                            |
//! | [`node_status`] | heartbeats, shown on the resources                                                |
//! | [`refusal`]  | why a call is refused, and how both protocols say it                                 |

pub mod identity;
pub mod node_status;
pub mod refusal;
