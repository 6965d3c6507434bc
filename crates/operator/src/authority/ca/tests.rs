use rstest::rstest;

use super::*;

const SKEW: SignedDuration = SignedDuration::from_hours(1);

fn now() -> SkewedTime {
    SkewedTime { time: "2026-11-16T06:00:00Z".parse().unwrap(), skew: SKEW }
}

#[test]
fn an_authority_is_parsed_as_it_was_stored() {
    let generated = CertificateAuthority::generate(now()).unwrap();
    let parsed = CertificateAuthority::parse(&generated.certificate.pem, &generated.key_pem()).unwrap();
    assert_eq!(parsed.certificate, generated.certificate);
    assert_eq!(parsed.key_pem(), generated.key_pem());
    assert_eq!(
        (generated.certificate.not_before, generated.certificate.not_after),
        (now().time - SKEW, now().time + AUTHORITY_LIFE)
    );
}

#[test]
fn what_is_not_an_authority_is_refused() {
    let (one, other) =
        (CertificateAuthority::generate(now()).unwrap(), CertificateAuthority::generate(now()).unwrap());
    let refused =
        |certificate: &str, key: &str| CertificateAuthority::parse(certificate, key).unwrap_err().to_string();
    assert_eq!(refused("", &one.key_pem()), "cannot parse the certificate");
    assert_eq!(refused(&one.certificate.pem, "?"), "cannot parse the key");
    assert_eq!(refused(&one.certificate.pem, &other.key_pem()), "the key does not match the certificate");
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["a".to_owned()]).unwrap().self_signed(&key).unwrap();
    assert_eq!(
        refused(&certificate.pem(), &key.serialize_pem()),
        "the certificate is not that of a certificate authority"
    );
}

#[rstest]
#[case::fresh(0, false, false)]
#[case::before_two_thirds(20 * 24 - 1, false, false)]
#[case::two_thirds(20 * 24, true, false)]
#[case::expired(30 * 24, true, true)]
#[case::clock_slightly_back(-1, false, false)]
#[case::clock_set_back(-2, true, false)]
fn a_certificate_is_renewed_after_two_thirds_of_its_validity(
    #[case] hours: i64,
    #[case] due: bool,
    #[case] expired: bool,
) {
    let certificate =
        CertificateAuthority::generate(now()).unwrap().sign(&["localhost".into()], now()).unwrap();
    let later = now().time + SignedDuration::from_hours(hours);
    assert_eq!((certificate.validity.is_due(later), certificate.validity.has_expired(later)), (due, expired));
}

#[test]
fn a_certificate_does_not_outlive_its_authority() {
    let authority = CertificateAuthority::generate(now()).unwrap();
    let late = SkewedTime { time: authority.certificate.not_after - SignedDuration::from_hours(24), ..now() };
    let certificate = authority.sign(&["localhost".into()], late).unwrap();
    assert_eq!(certificate.validity.not_after, authority.certificate.not_after);
}
