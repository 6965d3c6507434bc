//! The gRPC channel to the controller.
//!
//! One connection, opened when first needed and again when lost, shared by all clones. On top of tonic's own:
//!
//! * **A deadline on every call**, from before the connection is made until the last byte of the answer. It is
//!   the request's own timeout if it has one (`request.set_timeout`), else `VMAFX_CONTROLLER_RPC_TIMEOUT`. The
//!   server is told, so that it does not work for a caller who has left.
//!   An open stream has no end to wait for: a request made by [`streaming`] is timed until its headers come, and
//!   keep-alive pings find out when the other side is gone.
//! * **The token is read from its file for each call**, because the kubelet replaces it while we run. An expired
//!   one is not sent: the error names the file and the time, which the server's "unauthenticated" would not.
//! * **Errors name the address**, and one about certificates says which file to look at.

mod args;
mod deadline;
mod failure;
mod jwt;
mod service;
mod timed_body;
mod tls;
mod token;

pub use args::{ChannelArgs, ChannelError};
pub use deadline::{Streaming, streaming};
pub use service::GrpcChannel;
pub use token::TokenError;
