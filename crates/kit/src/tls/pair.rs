//! A certificate and its key, as bytes and as what rustls signs with.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::files::TlsFiles;

/// Nobody has a chain or a key this long; whoever names `/dev/zero` must not fill the memory.
const LONGEST: u64 = 1024 * 1024;

/// Why a pair of files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// A file cannot be read.
    #[error("cannot read {} ({variable})", file.display())]
    Read {
        /// The variable that names it.
        variable: &'static str,
        /// The file.
        file: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// There is no certificate in the file.
    #[error("{} holds no PEM certificate ({variable})", file.display())]
    NoCertificate {
        /// The variable that names it.
        variable: &'static str,
        /// The file.
        file: PathBuf,
    },
    /// There is no key in the file.
    #[error("{} holds no PEM private key ({variable})", file.display())]
    NoKey {
        /// The variable that names it.
        variable: &'static str,
        /// The file.
        file: PathBuf,
    },
    /// They do not belong together, or are of a kind that cannot be used.
    #[error("the certificate in {} and the key in {} cannot be used together", cert.display(), key.display())]
    Unfit {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Rustls' reason.
        #[source]
        source: rustls::Error,
    },
}

/// The content of both files. Compared to find out whether anything changed; never printed.
#[derive(PartialEq, Eq)]
pub(super) struct Pem {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Pem {
    pub(super) async fn read(files: &TlsFiles) -> Result<Self, PairError> {
        let cert = bytes(&files.cert, files.variables.cert).await?;
        let key = bytes(&files.key, files.variables.key).await?;
        Ok(Self { cert, key })
    }

    /// The pair, once it is sure that the key signs for the certificate.
    pub(super) fn certified(
        &self,
        files: &TlsFiles,
        provider: &CryptoProvider,
    ) -> Result<Arc<CertifiedKey>, PairError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.cert).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| PairError::NoCertificate {
            variable: files.variables.cert,
            file: files.cert.clone(),
        })?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|_| PairError::NoKey { variable: files.variables.key, file: files.key.clone() })?;
        let pair = CertifiedKey::from_der(chain, key, provider).map_err(|source| PairError::Unfit {
            cert: files.cert.clone(),
            key: files.key.clone(),
            source,
        })?;
        Ok(Arc::new(pair))
    }
}

async fn bytes(file: &Path, variable: &'static str) -> Result<Vec<u8>, PairError> {
    use tokio::io::AsyncReadExt;
    let read = async {
        let mut content = Vec::new();
        tokio::fs::File::open(file).await?.take(LONGEST).read_to_end(&mut content).await?;
        Ok(content)
    };
    read.await.map_err(|source| PairError::Read { variable, file: file.to_owned(), source })
}
