//! Who presented a client certificate.

use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;

use super::validity::CertificateValidity;

/// A certificate that a client presented and an accepted authority signed; an extension of each request of its
/// connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The Kubernetes namespace that the certificate names, as the SPIFFE ID `spiffe://TRUST-DOMAIN/ns/NAMESPACE` or one
    /// below it. Whoever signs it decides about the trust domain.
    pub namespace: Option<String>,
    validity: Option<CertificateValidity>,
}

impl ClientCertificate {
    pub fn parse(certificate: &CertificateDer<'_>) -> Self {
        Self { namespace: namespace(certificate), validity: CertificateValidity::of(certificate) }
    }

    /// A certificate for this namespace.
    pub fn of_namespace(namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), validity: None }
    }

    /// Time until the certificate expires.
    pub(crate) fn expires_in(&self, now: SystemTime) -> Option<Duration> {
        let end = u64::try_from(self.validity?.not_after).ok()?;
        Some((SystemTime::UNIX_EPOCH + Duration::from_secs(end)).duration_since(now).unwrap_or_default())
    }
}

/// As SPIFFE requires it, a certificate with several URIs names nobody.
fn namespace(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let names = parsed.subject_alternative_name().ok()??;
    let mut uris = names.value.general_names.iter().filter_map(|name| match name {
        GeneralName::URI(uri) => Some(*uri),
        _ => None,
    });
    let uri = uris.next().filter(|_| uris.next().is_none())?;
    namespace_of_uri(uri).map(str::to_owned)
}

fn namespace_of_uri(uri: &str) -> Option<&str> {
    let (trust_domain, path) = uri.strip_prefix("spiffe://")?.split_once('/')?;
    let namespace = path.strip_prefix("ns/")?.split('/').next()?;
    (!trust_domain.is_empty() && !namespace.is_empty()).then_some(namespace)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn certificate(uris: &[&str]) -> CertificateDer<'static> {
        let mut params = rcgen::CertificateParams::new(["studio".to_owned()]).unwrap();
        let uris = uris.iter().map(|&uri| rcgen::SanType::URI(uri.try_into().unwrap()));
        params.subject_alt_names.extend(uris);
        params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[rstest]
    #[case::namespace(&["spiffe://vmafx.dev/ns/studio"], Some("studio"))]
    #[case::account(&["spiffe://cluster.local/ns/studio/sa/vmafx-worker"], Some("studio"))]
    #[case::a_host_name_is_no_namespace(&[], None)]
    #[case::several(&["spiffe://vmafx.dev/ns/studio", "spiffe://vmafx.dev/ns/video"], None)]
    #[case::another_scheme(&["https://vmafx.dev/ns/studio"], None)]
    #[case::no_trust_domain(&["spiffe:///ns/studio"], None)]
    #[case::another_path(&["spiffe://vmafx.dev/workload/ns/studio"], None)]
    #[case::empty(&["spiffe://vmafx.dev/ns/"], None)]
    fn a_certificate_names_its_namespace_by_one_uri(#[case] uris: &[&str], #[case] expected: Option<&str>) {
        assert_eq!(ClientCertificate::parse(&certificate(uris)).namespace.as_deref(), expected);
    }
}
