//! TLS connections with rustls.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;

use super::dsn::{Address, CertificateCheck};
use super::error::ConnectError;
use super::verifier::ServerCertificateVerifier;

/// The configuration of TLS for all connections to an address. The file with the authorities is read again for each
/// connection, because it is replaced at run time when an authority is rotated; a file that cannot be used is ignored. The
/// authorities of the operating system are read once, because they change only with the image.
#[derive(Clone)]
pub(super) struct Tls {
    address: Arc<Address>,
    current: Arc<Mutex<CurrentConfig>>,
}

struct CurrentConfig {
    /// The content of the file with the authorities.
    pem: Option<Vec<u8>>,
    config: Arc<ClientConfig>,
}

impl CurrentConfig {
    fn read(address: &Address) -> Result<Self, ConnectError> {
        let pem = match (&address.authorities, address.trust) {
            (None, _) | (_, CertificateCheck::Skip) => None,
            (Some(file), _) => Some(std::fs::read(file).map_err(|error| unusable(file, &error))?),
        };
        let config = Arc::new(client_config(address, pem.as_deref())?);
        Ok(Self { pem, config })
    }
}

impl Tls {
    pub(super) fn new(address: &Address) -> Result<Self, ConnectError> {
        let current = Arc::new(Mutex::new(CurrentConfig::read(address)?));
        Ok(Self { address: Arc::new(address.clone()), current })
    }

    /// The file is small and on a local volume, so reading it does not delay other tasks.
    fn newest(&self) -> Arc<ClientConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.pem.is_some() {
            match CurrentConfig::read(&self.address) {
                Ok(read) if read.pem == current.pem => {}
                Ok(read) => {
                    tracing::info!("the certificate authorities for the database were replaced");
                    *current = read;
                }
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "cannot reload the certificate authorities for the database");
                }
            }
        }
        current.config.clone()
    }
}

fn client_config(address: &Address, pem: Option<&[u8]>) -> Result<ClientConfig, ConnectError> {
    let bad = |what: String| ConnectError::Certificates { what };
    let provider = Arc::new(aws_lc_rs::default_provider());
    let chain = match address.trust {
        CertificateCheck::Skip => None,
        CertificateCheck::Authority | CertificateCheck::Hostname => {
            let roots = Arc::new(authorities(address.authorities.as_deref().zip(pem))?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
            Some(verifier.map_err(|error| bad(error.to_string()))? as Arc<dyn ServerCertVerifier>)
        }
    };
    let verifier = ServerCertificateVerifier {
        provider: provider.clone(),
        chain,
        by_name: address.trust == CertificateCheck::Hostname,
    };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> ConnectError {
    ConnectError::Certificates { what: format!("{}: {error}", file.display()) }
}

/// The authorities in the content of a file, or those of the operating system.
fn authorities(file: Option<(&Path, &[u8])>) -> Result<RootCertStore, ConnectError> {
    let mut roots = RootCertStore::empty();
    let Some((file, pem)) = file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if roots.is_empty() {
            Err(ConnectError::Certificates { what: "this machine trusts no authority".into() })
        } else {
            Ok(roots)
        };
    };
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| unusable(file, &error))?;
        roots.add(certificate).map_err(|error| unusable(file, &error))?;
    }
    if roots.is_empty() { Err(unusable(file, &"no certificate in it")) } else { Ok(roots) }
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Stream<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        let name = ServerName::try_from(domain.to_owned()).map_err(io::Error::other)?;
        Ok(Handshake { connector: self.newest().into(), name })
    }
}

pub(super) struct Handshake {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl<S> TlsConnect<S> for Handshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { Ok(Stream(self.connector.connect(self.name, stream).await?)) })
    }
}

pub(super) struct Stream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
