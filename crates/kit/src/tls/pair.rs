//! Reading a certificate and its private key.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::files::TlsFiles;

/// Longer than any real chain or key. It bounds the memory used for a path such as `/dev/zero`.
const MAX_PEM_BYTES: u64 = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum KeyPairError {
    #[error("cannot read {} ({variable})", file.display())]
    Read {
        variable: &'static str,
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} contains no PEM certificate ({variable})", file.display())]
    NoCertificate { variable: &'static str, file: PathBuf },
    #[error("{} contains no PEM private key ({variable})", file.display())]
    NoKey { variable: &'static str, file: PathBuf },
    #[error("the certificate in {} and the private key in {} cannot be used together", cert.display(), key.display())]
    Unusable {
        cert: PathBuf,
        key: PathBuf,
        #[source]
        source: rustls::Error,
    },
}

/// The content of both files, compared to detect changes. It must never be printed.
#[derive(PartialEq, Eq)]
pub(super) struct PemPair {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl PemPair {
    /// Blocks on file I/O.
    pub(super) fn read(files: &TlsFiles) -> Result<Self, KeyPairError> {
        let cert = bytes(&files.cert, files.variables.cert)?;
        let key = bytes(&files.key, files.variables.key)?;
        Ok(Self { cert, key })
    }

    /// Fails unless the key belongs to the certificate and rustls supports its kind.
    pub(super) fn certified(
        &self,
        files: &TlsFiles,
        provider: &CryptoProvider,
    ) -> Result<Arc<CertifiedKey>, KeyPairError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.cert).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| {
            KeyPairError::NoCertificate { variable: files.variables.cert, file: files.cert.clone() }
        })?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|_| KeyPairError::NoKey { variable: files.variables.key, file: files.key.clone() })?;
        let pair = CertifiedKey::from_der(chain, key, provider).map_err(|source| KeyPairError::Unusable {
            cert: files.cert.clone(),
            key: files.key.clone(),
            source,
        })?;
        Ok(Arc::new(pair))
    }
}

fn bytes(file: &Path, variable: &'static str) -> Result<Vec<u8>, KeyPairError> {
    read_pem(file).map_err(|source| KeyPairError::Read { variable, file: file.to_owned(), source })
}

/// Blocks on file I/O.
pub(super) fn read_pem(file: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(file)?.take(MAX_PEM_BYTES).read_to_end(&mut content)?;
    Ok(content)
}
