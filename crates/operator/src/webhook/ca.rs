//! An authority of our own and the certificates it signs. No client; the time is an argument.

use std::time::{Duration, SystemTime};

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::clock::SkewedTime;

/// How long an authority is valid.
pub const AUTHORITY_LIFE: SignedDuration = SignedDuration::from_hours(24 * 3650);

/// How long before its end an authority is replaced.
pub const AUTHORITY_REPLACED_BEFORE: SignedDuration = SignedDuration::from_hours(24 * 365);

/// How long a server's certificate is valid.
pub const LEAF_LIFE: SignedDuration = SignedDuration::from_hours(24 * 30);

/// Why a certificate cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// It could not be made.
    #[error("a certificate cannot be made")]
    Make(#[source] rcgen::Error),
    /// The text is no certificate.
    #[error("the certificate cannot be read")]
    Certificate,
    /// The text is no key.
    #[error("the key cannot be read")]
    Key(#[source] rcgen::Error),
    /// They do not belong together.
    #[error("the key is not that of the certificate")]
    Mismatch,
    /// It may sign nothing.
    #[error("the certificate is not that of an authority")]
    NoAuthority,
    /// A time that no clock shows.
    #[error("the time is out of range")]
    Time,
}

/// The certificate of an authority: what others trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaCertificate {
    /// As it is stored.
    pub pem: String,
    /// From when on it is valid.
    pub begins: Timestamp,
    /// Until when.
    pub ends: Timestamp,
    public_key: Vec<u8>,
}

impl CaCertificate {
    /// Reads one certificate.
    pub fn read(pem: &str) -> Result<Self, CaError> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| CaError::Certificate)?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&der).map_err(|_| CaError::Certificate)?;
        if !parsed.is_ca() {
            return Err(CaError::NoAuthority);
        }
        let time = |seconds| Timestamp::from_second(seconds).map_err(|_| CaError::Time);
        Ok(Self {
            pem: pem.to_owned(),
            begins: time(parsed.validity().not_before.timestamp())?,
            ends: time(parsed.validity().not_after.timestamp())?,
            public_key: parsed.public_key().raw.to_vec(),
        })
    }
}

/// An authority with its key.
#[derive(Debug)]
pub struct CertificateAuthority {
    /// Its certificate.
    pub root: CaCertificate,
    issuer: Issuer<'static, KeyPair>,
}

impl CertificateAuthority {
    /// Makes one.
    pub fn make(now: SkewedTime) -> Result<Self, CaError> {
        let begins = now.time - now.skew;
        let key = KeyPair::generate().map_err(CaError::Make)?;
        let mut params = CertificateParams::default();
        // The time tells two of them apart in whatever shows certificates.
        params
            .distinguished_name
            .push(DnType::CommonName, format!("vmafx-operator webhook authority {:.0}", now.time));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.not_before = system(begins).into();
        params.not_after = system(now.time + AUTHORITY_LIFE).into();
        let certificate = params.self_signed(&key).map_err(CaError::Make)?;
        Self::read(&certificate.pem(), &key.serialize_pem())
    }

    /// Reads one.
    pub fn read(certificate: &str, key: &str) -> Result<Self, CaError> {
        let root = CaCertificate::read(certificate)?;
        let key = KeyPair::from_pem(key).map_err(CaError::Key)?;
        if rcgen::PublicKeyData::subject_public_key_info(&key) != root.public_key {
            return Err(CaError::Mismatch);
        }
        let issuer = Issuer::from_ca_cert_pem(certificate, key).map_err(|_| CaError::Certificate)?;
        Ok(Self { root, issuer })
    }

    /// The key, to be stored.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A certificate for a server that is called by these names and addresses.
    pub fn sign(&self, names: &[String], now: SkewedTime) -> Result<ServerCertificate, CaError> {
        let key = KeyPair::generate().map_err(CaError::Make)?;
        let (begins, ends) = (now.time - now.skew, (now.time + LEAF_LIFE).min(self.root.ends));
        let mut params = CertificateParams::new(names).map_err(CaError::Make)?;
        params.distinguished_name.push(DnType::CommonName, "vmafx-operator webhook");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.not_before = system(begins).into();
        params.not_after = system(ends).into();
        let certificate = params.signed_by(&key, &self.issuer).map_err(CaError::Make)?;
        Ok(ServerCertificate {
            authority: self.root.pem.clone(),
            certificate: certificate.der().clone(),
            key: key.serialize_der(),
            begins,
            made: now.time,
            ends,
        })
    }
}

/// The certificate of a server, which lives in memory only.
pub struct ServerCertificate {
    /// The authority that signed it.
    pub authority: String,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
    begins: Timestamp,
    made: Timestamp,
    ends: Timestamp,
}

impl ServerCertificate {
    /// Whether it is time for another: two thirds of its life are over, or the clock was set back to before it.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let life = self.ends.duration_since(self.made);
        now >= self.made + life * 2 / 3 || now < self.begins
    }

    /// Whether nobody takes it any more.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        now >= self.ends
    }

    /// Until when it is valid.
    pub fn ends(&self) -> Timestamp {
        self.ends
    }

    /// What a TLS server shows and signs with.
    pub fn pair(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (vec![self.certificate.clone()], PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone())))
    }
}

impl std::fmt::Debug for ServerCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerCertificate")
            .field("made", &self.made)
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}

/// Certificates know no time before 1970 here.
fn system(time: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH
        + Duration::try_from(time.duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
