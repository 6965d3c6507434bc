//! TLS of the client. The files with the certificate authorities and with the client's own certificate are read before
//! every handshake, because they are replaced at run time. Content that cannot be used is logged, and the previous one stays
//! in use.

use std::io;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{AlertDescription, RootCertStore};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsConnector;

use super::alert::{AlertedStream, LastAlert};
use super::args::{CA_FILE, ChannelError};
use super::authorities::TrustedAuthorities;
use crate::config::HostPort;
use crate::tls::{AuthoritiesFile, CurrentCertificate, TlsFiles, roots};

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
    /// The file of the authorities, if they come from one.
    file: Option<Arc<AuthoritiesFile>>,
    certificate: Option<Arc<CurrentCertificate>>,
    alert: LastAlert,
    /// Instead of the host of the address.
    server_name: Option<String>,
}

impl ClientTls {
    /// The files must be usable at the start.
    pub(super) fn open(
        trusted: TrustedAuthorities,
        certificate: Option<TlsFiles>,
        server_name: Option<&str>,
    ) -> Result<Self, ChannelError> {
        let file = match &trusted {
            TrustedAuthorities::System | TrustedAuthorities::Shared(_) => None,
            TrustedAuthorities::File(file) => Some(Arc::new(AuthoritiesFile::open(file.clone(), CA_FILE)?)),
        };
        let certificate = certificate.map(CurrentCertificate::open).transpose()?.map(Arc::new);
        let server_name = server_name.map(str::to_owned);
        Ok(Self { trusted, file, certificate, alert: LastAlert::default(), server_name })
    }

    pub(super) fn trusted(&self) -> &TrustedAuthorities {
        &self.trusted
    }

    /// The files of the client's own certificate, and the alert by which the server refused it.
    pub(super) fn refused_certificate(&self) -> Option<(&TlsFiles, AlertDescription)> {
        use AlertDescription::{
            BadCertificate, CertificateExpired, CertificateUnknown, DecryptError, UnknownCA,
            UnsupportedCertificate,
        };
        let alert = self.alert.get().filter(|alert| {
            matches!(
                alert,
                BadCertificate
                    | CertificateExpired
                    | CertificateUnknown
                    | DecryptError
                    | UnknownCA
                    | UnsupportedCertificate
            )
        })?;
        Some((self.certificate.as_ref()?.files()?, alert))
    }

    /// The next connection is refused for its own reasons.
    pub(super) fn forget_alert(&self) {
        self.alert.set(None);
    }

    /// PEM of the authorities in use, unless they are those of the system. Blocks on file I/O.
    pub(super) fn authorities_pem(&self) -> Option<Vec<u8>> {
        match (&self.trusted, &self.file) {
            (TrustedAuthorities::Shared(shared), _) => Some(shared.pem().as_bytes().to_vec()),
            (_, Some(file)) => Some(file.newest().to_vec()),
            _ => None,
        }
    }

    /// The client's own certificate with its intermediate ones; empty if there is none. Blocks on file I/O.
    pub(super) fn chain(&self) -> Vec<CertificateDer<'static>> {
        let Some(certificate) = &self.certificate else { return Vec::new() };
        certificate.refresh();
        certificate.chain()
    }

    pub(super) async fn handshake(
        &self,
        stream: TcpStream,
        target: &HostPort,
    ) -> Result<AlertedStream, HandshakeError> {
        let name = self.server_name.as_deref().unwrap_or(target.host());
        let name =
            ServerName::try_from(name.to_owned()).map_err(|_| HandshakeError::ServerName(name.to_owned()))?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(HandshakeError::Setup)?
            .with_root_certificates(self.roots().await?);
        let mut config = match &self.certificate {
            Some(certificate) => {
                let refreshed = Arc::clone(certificate);
                // A panic was logged by its hook; the certificate in use stays.
                let _ = spawn_blocking(move || refreshed.refresh()).await;
                builder.with_client_cert_resolver(Arc::clone(certificate) as _)
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector.connect(name, stream).await.map_err(HandshakeError::Handshake)?;
        Ok(AlertedStream { stream, alert: self.alert.clone() })
    }

    async fn roots(&self) -> Result<RootCertStore, HandshakeError> {
        if let TrustedAuthorities::Shared(shared) = &self.trusted {
            return roots(shared.pem().as_bytes()).ok_or(HandshakeError::NotIssued);
        }
        let file = self.file.clone();
        let loaded = spawn_blocking(move || {
            if let Some(file) = file {
                return roots(&file.newest());
            }
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            Some(roots).filter(|roots| !roots.is_empty())
        });
        loaded.await.ok().flatten().ok_or(HandshakeError::NoAuthorities)
    }
}
