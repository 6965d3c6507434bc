//! TLS certificates that can be replaced at run time, for servers and clients.
//!
//! The kubelet and cert-manager replace a certificate by swapping a symbolic link, without notifying the process. So
//! the files are read before a handshake, at most once a second, and compared by content, because the modification
//! times of links are not reliable. A pair that is invalid (half written, or a key of another certificate) is logged
//! and ignored; the current pair stays in use until a valid one appears. Open connections are not affected.
//!
//! A server may verify the certificates of its clients ([`ServerTls::open_verifying`]). The authorities for that are read
//! in the same way, and [`ClientCertificate`] says for whom a certificate is.
//!
//! A process that creates its certificates itself keeps them in memory ([`ServerTls::in_memory`]).

mod authorities;
mod client_certificate;
mod current;
mod files;
mod pair;
mod server;
mod validity;
mod verifier;

pub(crate) use authorities::roots;
pub use authorities::{AuthoritiesError, AuthoritiesFile};
pub use client_certificate::ClientCertificate;
pub(crate) use current::CurrentCertificate;
pub use files::{TlsFiles, TlsVariables};
pub use pair::KeyPairError;
pub use server::{ServerTls, TlsError};
pub use validity::{CertificateMetrics, CertificatePurpose};

/// Selects the cryptography of this process, because rustls does not choose once a dependency links a second provider.
pub fn install_crypto_provider() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
