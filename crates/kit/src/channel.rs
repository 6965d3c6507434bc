//! The gRPC channel to the controller.
//!
//! One connection, opened on first use and again when lost, shared by all clones. In addition to what tonic does:
//!
//! * **A deadline on every call**, from before the connection is made until the last byte of the response. It is
//!   the request's own timeout if it has one (`request.set_timeout`), else `VMAFX_CONTROLLER_RPC_TIMEOUT`. It is
//!   sent to the server, which can then stop working for a caller that has given up.
//!   A streaming response may never end: a request made by [`streaming`] is timed until its headers arrive, and
//!   keep-alive pings detect that the peer is gone.
//! * **The token is read from its file for each call**, because the kubelet replaces it at run time. An expired
//!   one is not sent: the error names the file and the time, which the server's "unauthenticated" would not.
//! * **Errors name the address**, and errors about certificates name the CA file.

mod args;
mod deadline;
mod failure;
mod jwt;
mod service;
mod timed_body;
mod tls;
mod token;

pub use args::{ChannelArgs, ChannelError};
pub use deadline::{StreamingCall, streaming};
pub use service::GrpcChannel;
pub use token::TokenError;
