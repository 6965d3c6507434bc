//! TLS of the client. The file with the certificate authorities is read before every handshake, because it is replaced at
//! run time when a CA is rotated. A file that cannot be used is logged, and the previous authorities stay in use.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::args::ChannelError;
use super::authorities::TrustedAuthorities;
use crate::config::HostPort;

#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error("\"{0}\" is not a name that a certificate can be valid for")]
    ServerName(String),
    #[error("this machine has no certificate authorities")]
    NoAuthorities,
    #[error("the certificate authority of the controller is not issued yet")]
    NotIssued,
    #[error("the TLS configuration is invalid")]
    Setup(#[source] rustls::Error),
    #[error("the TLS handshake failed")]
    Handshake(#[source] io::Error),
}

#[derive(Debug)]
pub(super) struct ClientTls {
    trusted: TrustedAuthorities,
    /// Instead of the host of the address.
    server_name: Option<String>,
    /// The content of the file when it was last usable. Empty without a file.
    current: Mutex<Vec<u8>>,
}

impl ClientTls {
    /// The file must be usable at the start.
    pub(super) fn open(trusted: TrustedAuthorities, server_name: Option<&str>) -> Result<Self, ChannelError> {
        let pem = match &trusted {
            TrustedAuthorities::System | TrustedAuthorities::Shared(_) => Vec::new(),
            TrustedAuthorities::File(file) => {
                let pem = std::fs::read(file)
                    .map_err(|source| ChannelError::ReadCa { file: file.clone(), source })?;
                authorities(&pem).ok_or_else(|| ChannelError::NoCa { file: file.clone() })?;
                pem
            }
        };
        Ok(Self { trusted, server_name: server_name.map(str::to_owned), current: Mutex::new(pem) })
    }

    pub(super) fn trusted(&self) -> &TrustedAuthorities {
        &self.trusted
    }

    pub(super) async fn handshake(
        &self,
        stream: TcpStream,
        target: &HostPort,
    ) -> Result<TlsStream<TcpStream>, HandshakeError> {
        let name = self.server_name.as_deref().unwrap_or(target.host());
        let name =
            ServerName::try_from(name.to_owned()).map_err(|_| HandshakeError::ServerName(name.to_owned()))?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(HandshakeError::Setup)?
            .with_root_certificates(self.roots().await?)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(HandshakeError::Handshake)
    }

    async fn roots(&self) -> Result<RootCertStore, HandshakeError> {
        match &self.trusted {
            TrustedAuthorities::File(file) => {
                let read = tokio::fs::read(file).await;
                return authorities(&self.newest(file, read)).ok_or(HandshakeError::NoAuthorities);
            }
            TrustedAuthorities::Shared(shared) => {
                return authorities(shared.pem().as_bytes()).ok_or(HandshakeError::NotIssued);
            }
            TrustedAuthorities::System => {}
        }
        // Loading the authorities of the system blocks on file I/O.
        let loaded = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(loaded.map_err(|_| HandshakeError::NoAuthorities)?.certs);
        if roots.is_empty() { Err(HandshakeError::NoAuthorities) } else { Ok(roots) }
    }

    /// The content to use: what was just read, if it is usable, or what was used before.
    fn newest(&self, file: &Path, read: io::Result<Vec<u8>>) -> Vec<u8> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let file = file.display();
        match read {
            Ok(pem) if pem == *current => {}
            Ok(pem) if authorities(&pem).is_some() => {
                tracing::info!(%file, "the certificate authorities for the controller were replaced");
                *current = pem;
            }
            Ok(_) => {
                tracing::warn!(%file, "the file contains no PEM certificate; the previous ones stay in use");
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(%file, error, "cannot read the certificate authorities; the previous ones stay in use");
            }
        }
        current.clone()
    }
}

/// `None` when the content has no certificate.
fn authorities(pem: &[u8]) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).filter_map(Result::ok));
    (!roots.is_empty()).then_some(roots)
}
