//! The server's side of TLS.

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
use super::pair::{PairError, Pem};

/// The files are looked at no more often than this.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A client that does not finish its handshake in this time is cut off.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The files cannot be used.
    #[error("the server's certificate cannot be used")]
    Pair(#[from] PairError),
    /// A certificate and a key from memory do not belong together, or are of a kind that cannot be used.
    #[error("the certificate and the key cannot be used together")]
    Unfit(#[source] rustls::Error),
    /// Rustls refuses its own defaults.
    #[error("TLS cannot be set up")]
    Setup(#[source] rustls::Error),
}

/// TLS for one listener. Clones share the certificate.
#[derive(Clone, Debug)]
pub struct ServerTls {
    acceptor: TlsAcceptorOf,
    current: Arc<Current>,
}

impl ServerTls {
    /// Reads the files, which must be good to begin with. `protocols` is what the listener speaks, best first, as
    /// in `h2` or `http/1.1`.
    pub async fn open(files: TlsFiles, protocols: &[&str]) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let pem = Pem::read(&files).await?;
        let pair = pem.certified(&files, &provider)?;
        let seen = tokio::sync::Mutex::new(Seen { pem: Some(pem), at: Instant::now() });
        Self::showing(Some(pair), Some(Watched { files, seen }), provider, protocols)
    }

    /// For certificates that the process makes itself: until the first is given to [`ServerTls::replace`], no
    /// handshake succeeds.
    pub fn in_memory(protocols: &[&str]) -> Result<Self, TlsError> {
        Self::showing(None, None, Arc::new(aws_lc_rs::default_provider()), protocols)
    }

    /// Shows this certificate, the server's own first in `chain`, to everybody who connects from now on. A pair that
    /// does not belong together is refused and changes nothing.
    pub fn replace(
        &self,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<(), TlsError> {
        let pair = CertifiedKey::from_der(chain, key, &self.current.provider).map_err(TlsError::Unfit)?;
        self.current.show(Arc::new(pair));
        Ok(())
    }

    fn showing(
        pair: Option<Arc<CertifiedKey>>,
        watched: Option<Watched>,
        provider: Arc<CryptoProvider>,
        protocols: &[&str],
    ) -> Result<Self, TlsError> {
        let current = Arc::new(Current { pair: Mutex::new(pair), provider: Arc::clone(&provider), watched });
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Self { acceptor: TlsAcceptorOf(Arc::new(config)), current })
    }

    /// For whoever makes the handshakes itself; call [`ServerTls::refresh`] before each.
    pub fn config(&self) -> Arc<rustls::ServerConfig> {
        Arc::clone(&self.acceptor.0)
    }

    /// Uses what the files hold, if that changed and if they were not looked at just before.
    pub async fn refresh(&self) {
        if let Some(watched) = &self.current.watched {
            watched.refresh(&self.current).await;
        }
    }

    /// Makes one handshake, with the newest certificate and within a deadline.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let handshake = async {
            self.refresh().await;
            TlsAcceptor::from(self.config()).accept(stream).await
        };
        tokio::time::timeout(HANDSHAKE_WITHIN, handshake).await.unwrap_or_else(|_| {
            Err(io::Error::new(io::ErrorKind::TimedOut, "the client did not finish its handshake"))
        })
    }
}

/// Rustls' configuration prints its keys' types at length and nothing that helps.
#[derive(Clone)]
struct TlsAcceptorOf(Arc<rustls::ServerConfig>);

impl fmt::Debug for TlsAcceptorOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TLS")
    }
}

/// What was last read, good or not, and when.
struct Seen {
    pem: Option<Pem>,
    at: Instant,
}

/// The files that the pair comes from.
struct Watched {
    files: TlsFiles,
    seen: tokio::sync::Mutex<Seen>,
}

impl Watched {
    async fn refresh(&self, current: &Current) {
        // Whoever comes while another is looking goes on with the pair that is there.
        let Ok(mut seen) = self.seen.try_lock() else { return };
        if seen.at.elapsed() < LOOK_EVERY {
            return;
        }
        seen.at = Instant::now();
        let cert = self.files.cert.display();
        match Pem::read(&self.files).await {
            Ok(pem) if seen.pem.as_ref() == Some(&pem) => {}
            Ok(pem) => {
                match pem.certified(&self.files, &current.provider) {
                    Ok(pair) => {
                        current.show(pair);
                        tracing::info!(%cert, "the server's certificate was replaced");
                    }
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, "a new certificate cannot be used; the one before stays");
                    }
                }
                seen.pem = Some(pem);
            }
            Err(error) => {
                // Said once: what cannot be read now is not read again as news every second.
                if seen.pem.take().is_some() {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "the server's certificate cannot be read; the one before stays");
                }
            }
        }
    }
}

/// The pair in use, if there is one yet.
struct Current {
    pair: Mutex<Option<Arc<CertifiedKey>>>,
    provider: Arc<CryptoProvider>,
    watched: Option<Watched>,
}

impl Current {
    fn show(&self, pair: Arc<CertifiedKey>) {
        *self.pair.lock().unwrap_or_else(PoisonError::into_inner) = Some(pair);
    }
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.watched.as_ref().map(|watched| &watched.files);
        f.debug_struct("Current").field("files", &files).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.pair.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
