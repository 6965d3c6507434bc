use rstest::rstest;

use super::*;

const SKEW: SignedDuration = SignedDuration::from_hours(1);

fn now() -> SkewedTime {
    SkewedTime { time: "2026-11-16T06:00:00Z".parse().unwrap(), skew: SKEW }
}

#[test]
fn an_authority_is_read_back_as_it_was_stored() {
    let made = CertificateAuthority::make(now()).unwrap();
    let read = CertificateAuthority::read(&made.root.pem, &made.key_pem()).unwrap();
    assert_eq!(read.root, made.root);
    assert_eq!(read.key_pem(), made.key_pem());
    assert_eq!((made.root.begins, made.root.ends), (now().time - SKEW, now().time + AUTHORITY_LIFE));
}

#[test]
fn what_is_no_authority_is_refused() {
    let (one, other) =
        (CertificateAuthority::make(now()).unwrap(), CertificateAuthority::make(now()).unwrap());
    let refused =
        |certificate: &str, key: &str| CertificateAuthority::read(certificate, key).unwrap_err().to_string();
    assert_eq!(refused("", &one.key_pem()), "the certificate cannot be read");
    assert_eq!(refused(&one.root.pem, "?"), "the key cannot be read");
    assert_eq!(refused(&one.root.pem, &other.key_pem()), "the key is not that of the certificate");
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(["a".to_owned()]).unwrap().self_signed(&key).unwrap();
    assert_eq!(refused(&leaf.pem(), &key.serialize_pem()), "the certificate is not that of an authority");
}

#[rstest]
#[case::fresh(0, false, false)]
#[case::before_two_thirds(20 * 24 - 1, false, false)]
#[case::two_thirds(20 * 24, true, false)]
#[case::ended(30 * 24, true, true)]
#[case::clock_slightly_back(-1, false, false)]
#[case::clock_set_back(-2, true, false)]
fn a_leaf_is_replaced_after_two_thirds_of_its_life(
    #[case] hours: i64,
    #[case] due: bool,
    #[case] ended: bool,
) {
    let leaf = CertificateAuthority::make(now()).unwrap().sign(&["localhost".into()], now()).unwrap();
    let later = now().time + SignedDuration::from_hours(hours);
    assert_eq!((leaf.is_due(later), leaf.has_ended(later)), (due, ended));
}

#[test]
fn a_leaf_does_not_outlive_its_authority() {
    let authority = CertificateAuthority::make(now()).unwrap();
    let late = SkewedTime { time: authority.root.ends - SignedDuration::from_hours(24), ..now() };
    let leaf = authority.sign(&["localhost".into()], late).unwrap();
    assert_eq!(leaf.ends(), authority.root.ends);
}
