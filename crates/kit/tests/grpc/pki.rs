//! A certificate authority that lives as long as a test.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;
use tonic::transport::{Identity, ServerTlsConfig};

/// A CA, and a server certificate signed by it.
pub(crate) struct Pki {
    pub(crate) ca_file: PathBuf,
    certificate: String,
    key: String,
    _directory: TempDir,
}

impl Pki {
    /// The server's certificate is valid for `name`; the CA's common name is `ca`.
    pub(crate) fn new(ca: &str, name: &str) -> Self {
        Self::until(ca, name, None)
    }

    /// The same with a certificate that expires at this time.
    pub(crate) fn until(ca: &str, name: &str, end: Option<SystemTime>) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, ca);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();

        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        if let Some(end) = end {
            params.not_after = end.into();
        }
        let certificate = params.signed_by(&key, &ca).unwrap();

        let directory = tempfile::tempdir().unwrap();
        let ca_file = directory.path().join("ca.pem");
        std::fs::write(&ca_file, ca.pem()).unwrap();
        Self { ca_file, certificate: certificate.pem(), key: key.serialize_pem(), _directory: directory }
    }

    /// Replaces the certificate and the key of a server.
    pub(crate) fn write_pair(&self, cert: &Path, key: &Path) {
        std::fs::write(cert, &self.certificate).unwrap();
        std::fs::write(key, &self.key).unwrap();
    }

    pub(super) fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new().identity(Identity::from_pem(&self.certificate, &self.key))
    }
}
