//! TLS for servers: certificates that can be replaced while they are in use.
//!
//! The kubelet and cert-manager replace a certificate by swapping a link, without a word to the process. So the
//! files are looked at before a handshake, at most once a second, and compared by content: times of links lie.
//! A pair that cannot be used (half written, a key of another certificate) changes nothing but a log line; the
//! pair in use stays until a good one appears. Connections that exist keep what they began with.
//!
//! A process that makes its certificates itself shows them from memory ([`ServerTls::in_memory`]).

mod files;
mod pair;
mod server;

pub use files::{TlsFiles, TlsVariables};
pub use pair::PairError;
pub use server::{ServerTls, TlsError};

/// Says which cryptography this process uses, because rustls refuses to choose once a dependency links a second one.
pub fn choose_provider() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
