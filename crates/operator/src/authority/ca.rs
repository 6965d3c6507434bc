//! The operator's certificate authority and the certificates that it signs. No client; time is an argument.

use std::time::{Duration, SystemTime};

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::clock::SkewedTime;

/// Validity of a certificate authority.
pub const AUTHORITY_LIFE: SignedDuration = SignedDuration::from_hours(24 * 3650);

/// A certificate authority is replaced this long before it expires.
pub const AUTHORITY_REPLACED_BEFORE: SignedDuration = SignedDuration::from_hours(24 * 365);

/// Validity of the certificate of a server or a client.
pub const CERTIFICATE_LIFE: SignedDuration = SignedDuration::from_hours(24 * 30);

#[derive(Debug, thiserror::Error)]
pub enum CaError {
    #[error("cannot issue a certificate")]
    Issue(#[source] rcgen::Error),
    #[error("cannot parse the certificate")]
    Certificate,
    #[error("cannot parse the key")]
    Key(#[source] rcgen::Error),
    #[error("the key does not match the certificate")]
    Mismatch,
    #[error("the certificate is not that of a certificate authority")]
    NotAuthority,
    #[error("the validity is out of range")]
    Time,
}

/// The public certificate of an authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaCertificate {
    pub pem: String,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    public_key: Vec<u8>,
}

impl CaCertificate {
    pub fn parse(pem: &str) -> Result<Self, CaError> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| CaError::Certificate)?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&der).map_err(|_| CaError::Certificate)?;
        if !parsed.is_ca() {
            return Err(CaError::NotAuthority);
        }
        let Validity { not_before, not_after } = Validity::of(&der)?;
        Ok(Self { pem: pem.to_owned(), not_before, not_after, public_key: parsed.public_key().raw.to_vec() })
    }
}

/// A certificate authority with its private key.
#[derive(Debug)]
pub struct CertificateAuthority {
    pub certificate: CaCertificate,
    issuer: Issuer<'static, KeyPair>,
}

impl CertificateAuthority {
    pub fn generate(now: SkewedTime) -> Result<Self, CaError> {
        let not_before = now.time - now.skew;
        let key = KeyPair::generate().map_err(CaError::Issue)?;
        let mut params = CertificateParams::default();
        // The time distinguishes two authorities in tools that show certificates.
        params
            .distinguished_name
            .push(DnType::CommonName, format!("vmafx-operator authority {:.0}", now.time));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.not_before = system(not_before).into();
        params.not_after = system(now.time + AUTHORITY_LIFE).into();
        let certificate = params.self_signed(&key).map_err(CaError::Issue)?;
        Self::parse(&certificate.pem(), &key.serialize_pem())
    }

    pub fn parse(certificate: &str, key: &str) -> Result<Self, CaError> {
        let public = CaCertificate::parse(certificate)?;
        let key = KeyPair::from_pem(key).map_err(CaError::Key)?;
        if rcgen::PublicKeyData::subject_public_key_info(&key) != public.public_key {
            return Err(CaError::Mismatch);
        }
        let issuer = Issuer::from_ca_cert_pem(certificate, key).map_err(|_| CaError::Certificate)?;
        Ok(Self { certificate: public, issuer })
    }

    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Issues a certificate for a server with these host names and addresses.
    pub fn sign(&self, names: &[String], now: SkewedTime) -> Result<SignedCertificate, CaError> {
        self.sign_for(CertificateUsage::Server, names, now)
    }

    /// Issues a certificate. The names of a client are URIs.
    pub fn sign_for(
        &self,
        usage: CertificateUsage,
        names: &[String],
        now: SkewedTime,
    ) -> Result<SignedCertificate, CaError> {
        let key = KeyPair::generate().map_err(CaError::Issue)?;
        let not_before = now.time - now.skew;
        let not_after = (now.time + CERTIFICATE_LIFE).min(self.certificate.not_after);
        let mut params = match usage {
            CertificateUsage::Server => CertificateParams::new(names).map_err(CaError::Issue)?,
            CertificateUsage::Client => CertificateParams::default(),
        };
        if usage == CertificateUsage::Client {
            let uris = names.iter().map(|name| name.as_str().try_into().map(SanType::URI));
            params.subject_alt_names = uris.collect::<Result<_, _>>().map_err(CaError::Issue)?;
        }
        params.distinguished_name.push(DnType::CommonName, "vmafx");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match usage {
            CertificateUsage::Server => ExtendedKeyUsagePurpose::ServerAuth,
            CertificateUsage::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.use_authority_key_identifier_extension = true;
        params.not_before = system(not_before).into();
        params.not_after = system(not_after).into();
        let certificate = params.signed_by(&key, &self.issuer).map_err(CaError::Issue)?;
        Ok(SignedCertificate {
            authority: self.certificate.pem.clone(),
            certificate: certificate.der().clone(),
            key: key.serialize_der(),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            validity: Validity { not_before, not_after },
        })
    }
}

/// The time for which a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

impl Validity {
    pub fn of(certificate: &CertificateDer<'_>) -> Result<Self, CaError> {
        let (_, parsed) =
            x509_parser::parse_x509_certificate(certificate).map_err(|_| CaError::Certificate)?;
        let time = |seconds| Timestamp::from_second(seconds).map_err(|_| CaError::Time);
        Ok(Self {
            not_before: time(parsed.validity().not_before.timestamp())?,
            not_after: time(parsed.validity().not_after.timestamp())?,
        })
    }

    /// Whether the certificate must be renewed: two thirds of its validity are over, or the clock was set back.
    pub fn is_due(self, now: Timestamp) -> bool {
        let life = self.not_after.duration_since(self.not_before).min(CERTIFICATE_LIFE);
        now >= self.not_after - life / 3 || now < self.not_before
    }

    pub fn has_expired(self, now: Timestamp) -> bool {
        now >= self.not_after
    }
}

/// What a certificate may be used for, and nothing else: a client cannot answer for the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateUsage {
    Server,
    Client,
}

/// The certificate of a server or a client with its key.
pub struct SignedCertificate {
    /// PEM of the authority that signed it.
    pub authority: String,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
    pub certificate_pem: String,
    pub key_pem: String,
    pub validity: Validity,
}

impl SignedCertificate {
    /// Certificate chain and private key for a TLS server.
    pub fn pair(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (vec![self.certificate.clone()], PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone())))
    }
}

impl std::fmt::Debug for SignedCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedCertificate").field("validity", &self.validity).finish_non_exhaustive()
    }
}

/// A time before 1970 becomes 1970.
fn system(time: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH
        + Duration::try_from(time.duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
