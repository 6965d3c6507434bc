use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ResolvesServerCert};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::authorities::AuthoritiesFile;
use super::current::CurrentCertificate;
use super::files::TlsFiles;
use super::pair::KeyPairError;
use super::verifier::ClientVerifier;

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
    certificates: Arc<ServerCertificates>,
    optional: bool,
}

#[derive(Debug)]
struct ServerCertificates {
    current: Arc<CurrentCertificate>,
    clients: Option<Arc<ClientVerifier>>,
    refreshed: Mutex<Instant>,
}

impl ServerTls {
    /// Reads the files, which must be valid at the start. `protocols` are the ALPN names that the listener supports,
    /// preferred ones first, as in `h2` or `http/1.1`.
    pub async fn open(files: TlsFiles, protocols: &[&str]) -> Result<Self, TlsError> {
        Self::open_verifying(files, None, protocols).await
    }

    /// The same for a server that verifies the certificates of clients that present one.
    pub async fn open_verifying(
        files: TlsFiles,
        clients: Option<AuthoritiesFile>,
        protocols: &[&str],
    ) -> Result<Self, TlsError> {
        let opened = tokio::task::spawn_blocking(move || {
            let current = CurrentCertificate::open(files)?;
            let verifier = |file| ClientVerifier::new(file, Arc::clone(current.provider()));
            let clients = clients.map(verifier).transpose().map_err(TlsError::Setup)?;
            Ok::<_, TlsError>((current, clients))
        });
        let stopped = |_| TlsError::Setup(rustls::Error::General("the files were not read".to_owned()));
        let (current, clients) = opened.await.map_err(stopped)??;
        Self::with_certificates(current, clients, protocols)
    }

    /// For certificates that the process creates itself. No handshake succeeds before the first call of
    /// [`ServerTls::replace`].
    pub fn in_memory(protocols: &[&str]) -> Result<Self, TlsError> {
        Self::with_certificates(CurrentCertificate::in_memory(), None, protocols)
    }

    /// Uses this certificate, the server's own first in `chain`, for all new connections. A key that does not belong to
    /// the certificate is an error and changes nothing.
    pub fn replace(
        &self,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<(), TlsError> {
        self.certificates.current.replace(chain, key).map_err(TlsError::Unusable)
    }

    fn with_certificates(
        current: CurrentCertificate,
        clients: Option<ClientVerifier>,
        protocols: &[&str],
    ) -> Result<Self, TlsError> {
        let (current, clients) = (Arc::new(current), clients.map(Arc::new));
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(current.provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?;
        let builder = match clients.clone() {
            Some(clients) => builder.with_client_cert_verifier(clients),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        if clients.is_some() {
            // A resumed session would keep a client certificate that has expired, or whose authority is not trusted any
            // more.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        let refreshed = Mutex::new(Instant::now());
        let certificates = Arc::new(ServerCertificates { current, clients, refreshed });
        Ok(Self { acceptor: OpaqueServerConfig(Arc::new(config)), certificates, optional: false })
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
        if self.certificates.is_due() {
            let certificates = Arc::clone(&self.certificates);
            // A panic was logged by its hook; the certificates in use stay.
            let _ = tokio::task::spawn_blocking(move || certificates.refresh()).await;
        }
    }

    /// The same, blocking on file I/O.
    pub(super) fn refresh_now(&self) {
        if self.certificates.is_due() {
            self.certificates.refresh();
        }
    }

    /// The certificate in use with its intermediate ones; empty if there is none.
    pub(super) fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.certificates.current.chain()
    }

    /// PEM of the authorities by which clients are verified, if they are.
    pub(super) fn client_authorities(&self) -> Option<Arc<[u8]>> {
        self.certificates.clients.as_ref().map(|clients| clients.pem())
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

impl ServerCertificates {
    fn is_due(&self) -> bool {
        let mut refreshed = self.refreshed.lock().unwrap_or_else(PoisonError::into_inner);
        let due = refreshed.elapsed() >= RELOAD_INTERVAL;
        if due {
            *refreshed = Instant::now();
        }
        due
    }

    fn refresh(&self) {
        self.current.refresh();
        if let Some(clients) = &self.clients {
            clients.refresh();
        }
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
