use super::*;
use crate::authority::ca::AUTHORITY_LIFE;

fn start() -> Timestamp {
    "2026-11-16T06:00:00Z".parse().unwrap()
}

fn at(time: Timestamp) -> SkewedTime {
    SkewedTime { time, skew: SignedDuration::from_hours(1) }
}

fn stored(authorities: &AuthoritySet) -> Secret {
    let mut secret = Secret::default();
    authorities.write(&mut secret);
    secret
}

fn advanced(
    authorities: AuthoritySet,
    now: Timestamp,
    published: bool,
) -> (AuthoritySet, Option<RotationStep>) {
    let (authorities, step) = match authorities.advance(at(now), published).unwrap() {
        Some((after, step)) => (after, Some(step)),
        None => (authorities, None),
    };
    // Every state can be stored and parsed again.
    let parsed = AuthoritySet::parse(&stored(&authorities)).unwrap();
    assert_eq!(stored(&parsed), stored(&authorities));
    (parsed, step)
}

#[test]
fn an_authority_is_replaced_in_three_steps_a_year_before_it_expires() {
    let authorities = AuthoritySet::generate(at(start())).unwrap();
    let first = authorities.current.certificate.clone();
    let year_before = start() + AUTHORITY_LIFE - AUTHORITY_REPLACED_BEFORE;

    let (authorities, step) = advanced(authorities, year_before - SignedDuration::from_secs(1), true);
    assert_eq!(step, None);
    let (authorities, step) = advanced(authorities, year_before, true);
    assert_eq!(step, Some(RotationStep::NextGenerated));
    assert_eq!(authorities.current.certificate, first);
    let both = authorities.bundle();
    assert_eq!(both.matches("BEGIN CERTIFICATE").count(), 2);

    let (authorities, step) =
        advanced(authorities, year_before + PUBLISHED_FOR - SignedDuration::from_secs(1), true);
    assert_eq!(step, None);
    let (authorities, step) = advanced(authorities, year_before + PUBLISHED_FOR, false);
    assert_eq!(step, None, "it signs although its certificate is not published");
    let promoted = year_before + PUBLISHED_FOR;
    let (authorities, step) = advanced(authorities, promoted, true);
    assert_eq!(step, Some(RotationStep::NextPromoted));
    assert_ne!(authorities.current.certificate, first);
    assert_eq!(authorities.bundle(), both, "a change of roles alone changes the bundle");

    let (authorities, step) =
        advanced(authorities, promoted + TRUSTED_FOR - SignedDuration::from_secs(1), true);
    assert_eq!(step, None);
    let (authorities, step) = advanced(authorities, promoted + TRUSTED_FOR, true);
    assert_eq!(step, Some(RotationStep::PreviousRemoved));
    assert_eq!(authorities.bundle(), authorities.current.certificate.pem);
}

#[test]
fn an_authority_that_expired_while_no_operator_ran_is_replaced_at_once() {
    let authorities = AuthoritySet::generate(at(start())).unwrap();
    let late = start() + AUTHORITY_LIFE;
    let (authorities, step) = advanced(authorities, late, false);
    assert_eq!(step, Some(RotationStep::NextGenerated));
    let (authorities, step) = advanced(authorities, late, false);
    assert_eq!(step, Some(RotationStep::NextPromoted));
    assert!(authorities.current.certificate.not_after > late);
}

#[test]
fn what_cannot_be_parsed_is_named() {
    let whole = stored(&AuthoritySet::generate(at(start())).unwrap());
    let without = |key: &str| {
        let mut secret = whole.clone();
        secret.data.as_mut().unwrap().remove(key);
        AuthoritySet::parse(&secret).unwrap_err().to_string()
    };
    assert_eq!(without("tls.crt"), "tls.crt is missing or not text");
    assert_eq!(without("tls.key"), "tls.key is missing or not text");
    let mut mixed = whole.clone();
    let other = stored(&AuthoritySet::generate(at(start())).unwrap());
    mixed.data.as_mut().unwrap().insert("tls.key".into(), other.data.unwrap()["tls.key"].clone());
    assert_eq!(AuthoritySet::parse(&mixed).unwrap_err().to_string(), "tls.crt cannot be used");
}

#[test]
fn a_damaged_next_authority_is_generated_again() {
    let year_before = start() + AUTHORITY_LIFE - AUTHORITY_REPLACED_BEFORE;
    let (authorities, _) = advanced(AuthoritySet::generate(at(start())).unwrap(), year_before, true);
    let mut secret = stored(&authorities);
    secret.data.as_mut().unwrap().insert("next.crt".into(), ByteString(b"?".to_vec()));
    let parsed = AuthoritySet::parse(&secret).unwrap();
    assert_eq!(parsed.current.certificate, authorities.current.certificate);
    let (_, step) = advanced(parsed, year_before, true);
    assert_eq!(step, Some(RotationStep::NextGenerated));
}
