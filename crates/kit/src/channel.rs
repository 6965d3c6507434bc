//! The gRPC channel to the controller.
//!
//! One connection, opened on first use and again when lost, shared by all clones. Its properties:
//!
//! * **It leaves a server that does not serve.** Before each connection the addresses are resolved anew, and one that has
//!   not failed lately is preferred. A server that shuts down, is not ready or does not answer is left for another one;
//!   calls that run on the old connection go on. A call that was not processed is sent again by itself, any other only if
//!   it is [`repeatable`]. The table is in `channel/retry.rs`.
//! * **A deadline on every call**, from before the connection is made until the last byte of the response. It is
//!   the request's own timeout if it has one (`request.set_timeout`), else `VMAFX_CONTROLLER_RPC_TIMEOUT`. It is
//!   sent to the server, which can then stop working for a caller that has given up.
//!   A streaming response may never end: a request made by [`streaming`] is timed until its headers arrive, and
//!   keep-alive pings detect that the peer is gone.
//! * **Files are read again**: the token for each call, the certificate authorities and the client's certificate for each
//!   connection, because the kubelet replaces them at run time. An expired token
//!   is not sent: the error names the file and the time, which the server's "unauthenticated" would not.
//! * **Errors name the address**, and errors about certificates name their file.

mod alert;
mod args;
mod authorities;
mod connections;
mod deadline;
mod dial;
mod failure;
mod jwt;
mod order;
mod response_body;
mod retry;
mod service;
mod tls;
mod token;

pub use args::{ChannelArgs, ChannelError};
pub use authorities::{SharedAuthorities, TrustedAuthorities};
pub(crate) use deadline::requested_timeout;
pub use deadline::{RepeatableCall, StreamingCall, repeatable, streaming};
pub use retry::not_ready;
pub use service::GrpcChannel;
pub use token::TokenError;
