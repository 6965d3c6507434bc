use k8s_openapi::jiff::SignedDuration;
use rstest::rstest;

use super::*;
use crate::authority::authorities::{PUBLISHED_FOR, RotationStep};
use crate::authority::ca::{AUTHORITY_LIFE, AUTHORITY_REPLACED_BEFORE, CERTIFICATE_LIFE};
use crate::authority::clock::SkewedTime;

fn start() -> Timestamp {
    "2026-11-16T06:00:00Z".parse().unwrap()
}

fn at(time: Timestamp) -> SkewedTime {
    SkewedTime { time, skew: SignedDuration::from_hours(1) }
}

fn hosts() -> Vec<String> {
    ["vmafx-controller.ns.svc", "10.0.0.1"].map(str::to_owned).into()
}

fn authorities() -> AuthoritySet {
    AuthoritySet::generate(at(start())).unwrap()
}

/// A Secret with a certificate of the current authority.
fn issued(authorities: &AuthoritySet, time: Timestamp) -> Secret {
    let mut secret = Secret::default();
    let certificate = authorities.current.sign(&hosts(), at(time)).unwrap();
    write(&mut secret, &certificate, &authorities.bundle());
    secret
}

fn put(secret: &mut Secret, key: &str, text: &str) {
    secret.data.as_mut().unwrap().insert(key.to_owned(), ByteString(text.as_bytes().to_vec()));
}

#[rstest]
#[case::fresh(0, None)]
#[case::before_two_thirds(20 * 24 - 1, None)]
#[case::two_thirds(20 * 24, Some(RenewalReason::Expiring))]
#[case::expired(31 * 24, Some(RenewalReason::Expiring))]
#[case::clock_set_back(-2, Some(RenewalReason::Expiring))]
fn a_certificate_is_renewed_before_it_expires(#[case] hours: i64, #[case] expected: Option<RenewalReason>) {
    assert_eq!(CERTIFICATE_LIFE, SignedDuration::from_hours(30 * 24));
    let authorities = authorities();
    let secret = issued(&authorities, start());
    let now = start() + SignedDuration::from_hours(hours);
    assert_eq!(renewal(Some(&secret), &authorities, &hosts(), now, true), expected);
    assert!(has_bundle(&secret, &authorities.bundle()));
}

#[rstest]
#[case::certificate("tls.crt")]
#[case::key("tls.key")]
fn a_damaged_secret_is_replaced(#[case] key: &str) {
    let authorities = authorities();
    let mut secret = issued(&authorities, start());
    let renewed = |secret: &Secret| renewal(Some(secret), &authorities, &hosts(), start(), false);
    put(&mut secret, key, "damaged");
    assert_eq!(renewed(&secret), Some(RenewalReason::Missing));
    // The other half of a pair of the same authority does not fit either.
    let another = issued(&authorities, start());
    put(&mut secret, key, std::str::from_utf8(bytes(&another, key).unwrap()).unwrap());
    assert_eq!(renewed(&secret), Some(RenewalReason::Missing));
    secret.data = None;
    assert_eq!(renewed(&secret), Some(RenewalReason::Missing));
    assert_eq!(renewal(None, &authorities, &hosts(), start(), false), Some(RenewalReason::Missing));
}

#[test]
fn a_certificate_that_no_client_trusts_is_replaced_at_once() {
    let secret = issued(&authorities(), start());
    let others = authorities();
    assert_eq!(renewal(Some(&secret), &others, &hosts(), start(), false), Some(RenewalReason::Untrusted));
}

#[rstest]
#[case::another_name(&["vmafx-controller.ns.svc", "10.0.0.1", "vmafx.example.com"])]
#[case::another_address(&["vmafx-controller.ns.svc", "10.0.0.1", "::1"])]
#[case::a_name_less(&["vmafx-controller.ns.svc"])]
fn a_certificate_with_other_names_is_replaced_once(#[case] hosts: &[&str]) {
    let authorities = authorities();
    let hosts: Vec<_> = hosts.iter().map(|&host| host.to_owned()).collect();
    let mut secret = issued(&authorities, start());
    let renewed = |secret: &Secret| renewal(Some(secret), &authorities, &hosts, start(), false);
    assert_eq!(renewed(&secret), Some(RenewalReason::Names));
    let certificate = authorities.current.sign(&hosts, at(start())).unwrap();
    write(&mut secret, &certificate, &authorities.bundle());
    assert_eq!(renewed(&secret), None);
}

#[rstest]
#[case::a_wildcard("*.example.com")]
#[case::an_address_of_another_spelling("0:0:0:0:0:0:0:1")]
#[case::upper_case("Vmafx.Example.com")]
fn a_name_in_any_spelling_is_not_renewed_again_and_again(#[case] host: &str) {
    let authorities = authorities();
    let hosts = [host.to_owned()];
    let mut secret = Secret::default();
    let certificate = authorities.current.sign(&hosts, at(start())).unwrap();
    write(&mut secret, &certificate, &authorities.bundle());
    assert_eq!(renewal(Some(&secret), &authorities, &hosts, start(), true), None);
}

#[test]
fn a_promoted_authority_signs_only_when_all_clients_have_it_and_the_certificate_before_stays_trusted() {
    let late = start() + AUTHORITY_LIFE - AUTHORITY_REPLACED_BEFORE;
    let authorities = authorities();
    let (authorities, step) = authorities.advance(at(late), true).unwrap().unwrap();
    assert_eq!(step, RotationStep::NextGenerated);
    let secret = issued(&authorities, late);
    let later = late + PUBLISHED_FOR;
    assert_eq!(renewal(Some(&secret), &authorities, &hosts(), later, true), None);
    let (authorities, step) = authorities.advance(at(later), true).unwrap().unwrap();
    assert_eq!(step, RotationStep::NextPromoted);
    assert_eq!(renewal(Some(&secret), &authorities, &hosts(), later, false), None);
    let reason = renewal(Some(&secret), &authorities, &hosts(), later, true);
    assert_eq!(reason, Some(RenewalReason::Authority));
    let renewed = issued(&authorities, later);
    assert_eq!(renewal(Some(&renewed), &authorities, &hosts(), later, true), None);
}

#[test]
fn the_certificate_of_a_server_is_none_for_a_client_and_that_of_another_client_neither() {
    let authorities = authorities();
    let names = ["spiffe://vmafx.dev/ns/studio".to_owned()];
    let subject = CertificateSubject { usage: CertificateUsage::Client, names: &names };
    let signed = |usage, name: &str| {
        let mut secret = Secret::default();
        let certificate = authorities.current.sign_for(usage, &[name.to_owned()], at(start())).unwrap();
        write(&mut secret, &certificate, &authorities.bundle());
        let stored = StoredCertificate::parse(&secret);
        renewal_for(stored.as_ref(), subject, &authorities, start(), false)
    };
    assert_eq!(signed(CertificateUsage::Client, &names[0]), None);
    assert_eq!(signed(CertificateUsage::Server, "localhost"), Some(RenewalReason::Untrusted));
    let another = signed(CertificateUsage::Client, "spiffe://vmafx.dev/ns/video");
    assert_eq!(another, Some(RenewalReason::Names));
}
