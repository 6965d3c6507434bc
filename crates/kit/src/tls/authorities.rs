//! A PEM file with certificate authorities, which is replaced at run time when a CA is rotated. Content that cannot be
//! used is logged, and the previous authorities stay in use.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::pair::read_pem;

#[derive(Debug, thiserror::Error)]
pub enum AuthoritiesError {
    #[error("cannot read {} ({variable})", file.display())]
    Read {
        variable: &'static str,
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} contains no PEM certificate ({variable})", file.display())]
    NoCertificate { variable: &'static str, file: PathBuf },
}

#[derive(Debug)]
pub struct AuthoritiesFile {
    file: PathBuf,
    /// The content when it was last usable.
    current: Mutex<Arc<[u8]>>,
}

impl AuthoritiesFile {
    /// The file must be usable at the start; errors name the variable that set it. Blocks on file I/O.
    pub fn open(file: PathBuf, variable: &'static str) -> Result<Self, AuthoritiesError> {
        let pem = match read_pem(&file) {
            Ok(pem) if roots(&pem).is_some() => pem,
            Ok(_) => return Err(AuthoritiesError::NoCertificate { variable, file }),
            Err(source) => return Err(AuthoritiesError::Read { variable, file, source }),
        };
        Ok(Self { file, current: Mutex::new(pem.into()) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    /// The content to use: that of the file, if it is usable, or what was used before. Blocks on file I/O.
    pub(crate) fn newest(&self) -> Arc<[u8]> {
        let read = read_pem(&self.file);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self.file.display();
        match read {
            Ok(pem) if *pem == **current => {}
            Ok(pem) if roots(&pem).is_some() => {
                tracing::info!(%file, "the certificate authorities were replaced");
                *current = pem.into();
            }
            Ok(_) => {
                tracing::warn!(%file, "the file contains no PEM certificate; the previous ones stay in use");
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(%file, error, "cannot read the certificate authorities; the previous ones stay in use");
            }
        }
        Arc::clone(&current)
    }
}

/// `None` when the content has no certificate.
pub(crate) fn roots(pem: &[u8]) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(pem));
    (!roots.is_empty()).then_some(roots)
}

pub(crate) fn certificates(pem: &[u8]) -> impl Iterator<Item = CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok)
}
