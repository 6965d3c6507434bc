//! The queue over gRPC and HTTP.
//!
//! | module       | holds                                                                                |
//! |--------------|--------------------------------------------------------------------------------------|
//! | [`identity`] | who calls                                                                            |
//! | [`refusal`]  | why a call is refused, and how both protocols say it                                 |

pub mod identity;
pub mod refusal;
