//! A certificate authority for one cluster, and the certificates that it signs.
//!
//! Keys are P-256, which are generated in microseconds, where RSA takes a tenth of a second each. Nothing is reused
//! between clusters, so a client of one is never accepted by another that happens to get the same port.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};

#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    #[error("cannot create the certificate of {name}")]
    Make {
        name: String,
        #[source]
        source: rcgen::Error,
    },
    #[error("cannot write {}", .path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// A certificate and its key, in files and in memory.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
}

/// The files of the key that service account tokens are signed with.
#[derive(Debug, Clone)]
pub(crate) struct ServiceAccountKey {
    pub(crate) private: PathBuf,
    pub(crate) public: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Authority {
    directory: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// Creates a CA whose files are in `directory`.
    pub(crate) fn create(directory: &Path) -> Result<Self, PkiError> {
        let name = "vmafx-testkit-ca";
        let make = |source| PkiError::Make { name: name.to_owned(), source };
        let key = KeyPair::generate().map_err(make)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key).map_err(make)?;
        write(&directory.join("ca.crt"), &certificate.pem())?;
        Ok(Self { directory: directory.to_owned(), pem: certificate.pem(), issuer: Issuer::new(params, key) })
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.directory.join("ca.crt")
    }

    pub(crate) fn certificate_pem(&self) -> &str {
        &self.pem
    }

    /// A server certificate for these names and addresses. It is also a client certificate, which the kubelet needs.
    pub(crate) fn server(
        &self,
        name: &str,
        group: Option<&str>,
        hosts: &[&str],
    ) -> Result<Identity, PkiError> {
        self.sign(name, subject(name, group), hosts)
    }

    /// A client certificate: Kubernetes uses the common name as user and the organization as group.
    pub(crate) fn client(&self, user: &str, group: &str) -> Result<Identity, PkiError> {
        self.sign(user, subject(user, Some(group)), &[])
    }

    /// The key pair of service account tokens: RSA, as in real clusters. The public key needs its own file, because the
    /// API server cannot derive it from a private key in this format.
    pub(crate) fn service_accounts(&self) -> Result<ServiceAccountKey, PkiError> {
        let make = |source| PkiError::Make { name: "service accounts".to_owned(), source };
        let key = KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).map_err(make)?;
        let files = ServiceAccountKey {
            private: self.directory.join("service-account.key"),
            public: self.directory.join("service-account.pub"),
        };
        write(&files.private, &key.serialize_pem())?;
        write(&files.public, &key.public_key_pem())?;
        Ok(files)
    }

    fn sign(&self, name: &str, subject: DistinguishedName, hosts: &[&str]) -> Result<Identity, PkiError> {
        let make = |source| PkiError::Make { name: name.to_owned(), source };
        let hosts: Vec<_> = hosts.iter().map(|&host| host.to_owned()).collect();
        let key = KeyPair::generate().map_err(make)?;
        let mut params = CertificateParams::new(hosts).map_err(make)?;
        params.distinguished_name = subject;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&key, &self.issuer).map_err(make)?;
        // User names such as system:node:node1 are not good file names.
        let stem = name.replace(':', "-");
        let identity = Identity {
            certificate: self.directory.join(format!("{stem}.crt")),
            key: self.directory.join(format!("{stem}.key")),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        };
        write(&identity.certificate, &identity.certificate_pem)?;
        write(&identity.key, &identity.key_pem)?;
        Ok(identity)
    }
}

fn subject(name: &str, group: Option<&str>) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    if let Some(group) = group {
        subject.push(DnType::OrganizationName, group);
    }
    subject
}

fn write(path: &Path, content: &str) -> Result<(), PkiError> {
    fs::write(path, content).map_err(|source| PkiError::Write { path: path.to_owned(), source })
}
