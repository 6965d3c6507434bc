use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::files::TlsFiles;
use super::pair::{KeyPairError, PemPair};

/// Minimum time between two reads of the certificate files.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the server's certificate is not usable")]
    Pair(#[from] KeyPairError),
    #[error("the certificate and the private key cannot be used together")]
    Unusable(#[source] rustls::Error),
    #[error("cannot set up TLS")]
    Setup(#[source] rustls::Error),
}

/// TLS for one listener. Clones share the certificate.
#[derive(Clone, Debug)]
pub struct ServerTls {
    acceptor: OpaqueServerConfig,
    current: Arc<CurrentCertificate>,
    optional: bool,
}

impl ServerTls {
    /// Reads the files, which must be valid at the start. `protocols` are the ALPN names that the listener supports,
    /// preferred ones first, as in `h2` or `http/1.1`.
    pub async fn open(files: TlsFiles, protocols: &[&str]) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let pem = PemPair::read(&files).await?;
        let pair = pem.certified(&files, &provider)?;
        let last_read = tokio::sync::Mutex::new(LastRead { pem: Some(pem), at: Instant::now() });
        Self::with_certificate(Some(pair), Some(WatchedFiles { files, last_read }), provider, protocols)
    }

    /// For certificates that the process creates itself. No handshake succeeds before the first call of
    /// [`ServerTls::replace`].
    pub fn in_memory(protocols: &[&str]) -> Result<Self, TlsError> {
        Self::with_certificate(None, None, Arc::new(aws_lc_rs::default_provider()), protocols)
    }

    /// Uses this certificate, the server's own first in `chain`, for all new connections. A key that does not belong to
    /// the certificate is an error and changes nothing.
    pub fn replace(
        &self,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<(), TlsError> {
        let pair = CertifiedKey::from_der(chain, key, &self.current.provider).map_err(TlsError::Unusable)?;
        self.current.set(Arc::new(pair));
        Ok(())
    }

    fn with_certificate(
        pair: Option<Arc<CertifiedKey>>,
        watched: Option<WatchedFiles>,
        provider: Arc<CryptoProvider>,
        protocols: &[&str],
    ) -> Result<Self, TlsError> {
        let current =
            Arc::new(CurrentCertificate { pair: Mutex::new(pair), provider: Arc::clone(&provider), watched });
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Self { acceptor: OpaqueServerConfig(Arc::new(config)), current, optional: false })
    }

    /// Whether clients without TLS are accepted on the same port.
    #[must_use]
    pub fn optional(self, optional: bool) -> Self {
        Self { optional, ..self }
    }

    pub(crate) fn is_optional(&self) -> bool {
        self.optional
    }

    /// For callers that perform the handshakes themselves; call [`ServerTls::refresh`] before each.
    pub fn config(&self) -> Arc<rustls::ServerConfig> {
        Arc::clone(&self.acceptor.0)
    }

    /// Reloads the files if they changed, at most once per `RELOAD_INTERVAL`.
    pub async fn refresh(&self) {
        if let Some(watched) = &self.current.watched {
            watched.refresh(&self.current).await;
        }
    }

    /// Performs one handshake, with the newest certificate and within a timeout.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let handshake = async {
            self.refresh().await;
            TlsAcceptor::from(self.config()).accept(stream).await
        };
        tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await.unwrap_or_else(|_| {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client did not finish its TLS handshake in time",
            ))
        })
    }
}

/// Hides rustls's configuration in debug output, which is long and does not help.
#[derive(Clone)]
struct OpaqueServerConfig(Arc<rustls::ServerConfig>);

impl fmt::Debug for OpaqueServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TLS")
    }
}

/// The content that was last read, valid or not; `None` after a failed read.
struct LastRead {
    pem: Option<PemPair>,
    at: Instant,
}

struct WatchedFiles {
    files: TlsFiles,
    last_read: tokio::sync::Mutex<LastRead>,
}

impl WatchedFiles {
    async fn refresh(&self, current: &CurrentCertificate) {
        // While another handshake reloads the files, this one continues with the current pair.
        let Ok(mut last_read) = self.last_read.try_lock() else { return };
        if last_read.at.elapsed() < RELOAD_INTERVAL {
            return;
        }
        last_read.at = Instant::now();
        let cert = self.files.cert.display();
        match PemPair::read(&self.files).await {
            Ok(pem) if last_read.pem.as_ref() == Some(&pem) => {}
            Ok(pem) => {
                match pem.certified(&self.files, &current.provider) {
                    Ok(pair) => {
                        current.set(pair);
                        tracing::info!(%cert, "certificate reloaded");
                    }
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(
                            error,
                            "the new certificate is not usable; the previous one stays in use"
                        );
                    }
                }
                last_read.pem = Some(pem);
            }
            Err(error) => {
                // Logged once, not again for every failed read.
                if last_read.pem.take().is_some() {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "cannot read the server's certificate; the previous one stays in use"
                    );
                }
            }
        }
    }
}

/// The pair in use; `None` before the first [`ServerTls::replace`].
struct CurrentCertificate {
    pair: Mutex<Option<Arc<CertifiedKey>>>,
    provider: Arc<CryptoProvider>,
    watched: Option<WatchedFiles>,
}

impl CurrentCertificate {
    fn set(&self, pair: Arc<CertifiedKey>) {
        *self.pair.lock().unwrap_or_else(PoisonError::into_inner) = Some(pair);
    }
}

impl fmt::Debug for CurrentCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.watched.as_ref().map(|watched| &watched.files);
        f.debug_struct("CurrentCertificate").field("files", &files).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.pair.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
