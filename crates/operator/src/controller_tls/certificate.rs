//! A Secret with the certificate of the controller or of its clients, and when it is renewed. Pure.
//!
//! | the stored certificate                                   | is renewed                                              |
//! |----------------------------------------------------------|---------------------------------------------------------|
//! | is missing, damaged, or of a key that is not its own     | at once                                                 |
//! | was signed by an authority that nobody trusts            | at once                                                 |
//! | has less than a third of its validity left               | at once                                                 |
//! | has other names, or is for another usage                 | at once                                                 |
//! | was signed by the previous authority                     | when everybody has the current one                      |

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use x509_parser::extensions::GeneralName;

use crate::authority::ca::Validity;
use crate::authority::{AuthoritySet, CertificateUsage, SignedCertificate};

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const BUNDLE: &str = "ca.crt";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalReason {
    /// There is no certificate that could be used.
    Missing,
    /// Its authority is not one that is trusted for its usage.
    Untrusted,
    Expiring,
    Names,
    /// A newer authority signs now.
    Authority,
}

/// What a certificate is for.
#[derive(Clone, Copy, Debug)]
pub struct CertificateSubject<'a> {
    pub usage: CertificateUsage,
    /// Host names and addresses of a server, URIs of a client.
    pub names: &'a [String],
}

/// Why the controller's certificate has to be renewed now, if it has; `published` says whether all clients have the
/// current authority.
pub fn renewal(
    secret: Option<&Secret>,
    authorities: &AuthoritySet,
    hosts: &[String],
    now: Timestamp,
    published: bool,
) -> Option<RenewalReason> {
    let subject = CertificateSubject { usage: CertificateUsage::Server, names: hosts };
    let stored = secret.and_then(StoredCertificate::parse);
    renewal_for(stored.as_ref(), subject, authorities, now, published)
}

/// The same for any certificate.
pub fn renewal_for(
    stored: Option<&StoredCertificate>,
    subject: CertificateSubject<'_>,
    authorities: &AuthoritySet,
    now: Timestamp,
    published: bool,
) -> Option<RenewalReason> {
    let Some(stored) = stored else { return Some(RenewalReason::Missing) };
    let previous = authorities.previous.as_ref().map(|(previous, _)| previous);
    let is_signed_by = |authority: &str| stored.is_signed_by(authority, subject.usage);
    let by_current = is_signed_by(&authorities.current.certificate.pem);
    if !by_current && !previous.is_some_and(|previous| is_signed_by(&previous.pem)) {
        return Some(RenewalReason::Untrusted);
    }
    if stored.validity.is_due(now) {
        return Some(RenewalReason::Expiring);
    }
    if stored.names() != subject.names.iter().map(|name| normalized(name)).collect() {
        return Some(RenewalReason::Names);
    }
    (!by_current && published).then_some(RenewalReason::Authority)
}

/// Whether the Secret has this bundle.
pub fn has_bundle(secret: &Secret, bundle: &str) -> bool {
    bytes(secret, BUNDLE) == Some(bundle.as_bytes())
}

/// Replaces the content of the Secret.
pub fn write(secret: &mut Secret, certificate: &SignedCertificate, bundle: &str) {
    let data = [(CERTIFICATE, &certificate.certificate_pem), (KEY, &certificate.key_pem)];
    let mut data: BTreeMap<_, _> =
        data.map(|(key, text)| (key.to_owned(), ByteString(text.clone().into_bytes()))).into();
    data.insert(BUNDLE.to_owned(), ByteString(bundle.as_bytes().to_vec()));
    secret.data = Some(data);
}

/// Replaces the authorities only.
pub fn write_bundle(secret: &mut Secret, bundle: &str) {
    let data = secret.data.get_or_insert_default();
    data.insert(BUNDLE.to_owned(), ByteString(bundle.as_bytes().to_vec()));
}

fn bytes<'a>(secret: &'a Secret, key: &str) -> Option<&'a [u8]> {
    Some(&secret.data.as_ref()?.get(key)?.0)
}

/// The certificate in a Secret, without its key.
pub struct StoredCertificate {
    der: CertificateDer<'static>,
    validity: Validity,
}

impl StoredCertificate {
    /// `None` unless the certificate and its key can be used together.
    pub fn parse(secret: &Secret) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(bytes(secret, CERTIFICATE)?).ok()?;
        let key = PrivateKeyDer::from_pem_slice(bytes(secret, KEY)?).ok()?;
        CertifiedKey::from_der(vec![der.clone()], key, &aws_lc_rs::default_provider()).ok()?;
        let validity = Validity::of(&der).ok()?;
        Some(Self { der, validity })
    }

    fn is_signed_by(&self, authority: &str, usage: CertificateUsage) -> bool {
        let verify = || {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).ok()?).ok()?;
            // A time at which the certificate is valid: whether it still is, is another question.
            let seconds = u64::try_from(self.validity.not_before.as_second()).ok()?;
            let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
            let provider = aws_lc_rs::default_provider();
            match usage {
                CertificateUsage::Server => {
                    let algorithms = provider.signature_verification_algorithms.all;
                    let certificate = ParsedCertificate::try_from(&self.der).ok()?;
                    verify_server_cert_signed_by_trust_anchor(&certificate, &roots, &[], time, algorithms)
                        .ok()
                }
                CertificateUsage::Client => {
                    let builder = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.into());
                    builder.build().ok()?.verify_client_cert(&self.der, &[], time).ok().map(drop)
                }
            }
        };
        verify().is_some()
    }

    /// Host names, addresses and URIs for which the certificate is valid.
    fn names(&self) -> BTreeSet<String> {
        let Ok((_, parsed)) = x509_parser::parse_x509_certificate(&self.der) else { return BTreeSet::new() };
        let Ok(Some(names)) = parsed.subject_alternative_name() else { return BTreeSet::new() };
        names.value.general_names.iter().filter_map(name).collect()
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) | GeneralName::URI(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let address = v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            address.ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

/// The spelling of an address that the certificate gives back.
fn normalized(host: &str) -> String {
    host.parse::<IpAddr>().map_or_else(|_| host.to_owned(), |address| address.to_string())
}

#[cfg(test)]
mod tests;
