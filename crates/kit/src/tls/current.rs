//! The certificate that a server or a client presents. Its files may be replaced at run time.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::files::TlsFiles;
use super::pair::{KeyPairError, PemPair};

pub(crate) struct CurrentCertificate {
    /// `None` before the first [`CurrentCertificate::replace`].
    pair: Mutex<Option<Arc<CertifiedKey>>>,
    provider: Arc<CryptoProvider>,
    watched: Option<WatchedFiles>,
}

struct WatchedFiles {
    files: TlsFiles,
    /// The content that was last read, valid or not; `None` after a failed read.
    last_read: Mutex<Option<PemPair>>,
}

impl CurrentCertificate {
    /// Reads the files, which must be valid at the start. Blocks on file I/O.
    pub(crate) fn open(files: TlsFiles) -> Result<Self, KeyPairError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let pem = PemPair::read(&files)?;
        let pair = pem.certified(&files, &provider)?;
        let watched = Some(WatchedFiles { files, last_read: Mutex::new(Some(pem)) });
        Ok(Self { pair: Mutex::new(Some(pair)), provider, watched })
    }

    pub(crate) fn in_memory() -> Self {
        Self { pair: Mutex::new(None), provider: Arc::new(aws_lc_rs::default_provider()), watched: None }
    }

    pub(crate) fn provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    pub(crate) fn files(&self) -> Option<&TlsFiles> {
        self.watched.as_ref().map(|watched| &watched.files)
    }

    pub(crate) fn replace(
        &self,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<(), rustls::Error> {
        *self.pair() = Some(Arc::new(CertifiedKey::from_der(chain, key, &self.provider)?));
        Ok(())
    }

    /// The certificate in use with its intermediate ones; empty if there is none.
    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.pair().as_ref().map(|pair| pair.cert.clone()).unwrap_or_default()
    }

    /// Reads the files again. A pair that cannot be used is logged once and changes nothing. Blocks on file I/O.
    pub(crate) fn refresh(&self) {
        let Some(WatchedFiles { files, last_read }) = &self.watched else { return };
        let mut last_read = last_read.lock().unwrap_or_else(PoisonError::into_inner);
        let problem = match PemPair::read(files) {
            Ok(pem) if last_read.as_ref() == Some(&pem) => None,
            Ok(pem) => {
                let certified = pem.certified(files, &self.provider);
                *last_read = Some(pem);
                certified.map(|pair| self.reloaded(pair, files)).err()
            }
            Err(error) => last_read.take().map(|_| error),
        };
        if let Some(error) = problem {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the new certificate is not usable; the previous one stays in use");
        }
    }

    fn reloaded(&self, pair: Arc<CertifiedKey>, files: &TlsFiles) {
        *self.pair() = Some(pair);
        tracing::info!(cert = %files.cert.display(), "certificate reloaded");
    }

    fn pair(&self) -> MutexGuard<'_, Option<Arc<CertifiedKey>>> {
        self.pair.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CurrentCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentCertificate").field("files", &self.files()).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.pair().clone()
    }
}

impl ResolvesClientCert for CurrentCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.pair().clone()
    }

    fn has_certs(&self) -> bool {
        self.pair().is_some()
    }
}
