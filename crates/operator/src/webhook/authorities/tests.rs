use super::*;
use crate::webhook::ca::AUTHORITY_LIFE;

fn start() -> Timestamp {
    "2026-11-16T06:00:00Z".parse().unwrap()
}

fn at(time: Timestamp) -> SkewedTime {
    SkewedTime { time, skew: SignedDuration::from_hours(1) }
}

fn stored(trust: &AuthoritySet) -> Secret {
    let mut secret = Secret::default();
    trust.write(&mut secret);
    secret
}

fn advanced(trust: AuthoritySet, now: Timestamp, published: bool) -> (AuthoritySet, Option<RotationStep>) {
    let (trust, change) = match trust.advance(at(now), published).unwrap() {
        Some((after, change)) => (after, Some(change)),
        None => (trust, None),
    };
    // Whatever there is survives its Secret.
    let read = AuthoritySet::read(&stored(&trust)).unwrap();
    assert_eq!(stored(&read), stored(&trust));
    (read, change)
}

#[test]
fn an_authority_is_replaced_in_three_steps_a_year_before_its_end() {
    let trust = AuthoritySet::make(at(start())).unwrap();
    let first = trust.current.root.clone();
    let year_before = start() + AUTHORITY_LIFE - AUTHORITY_REPLACED_BEFORE;

    let (trust, change) = advanced(trust, year_before - SignedDuration::from_secs(1), true);
    assert_eq!(change, None);
    let (trust, change) = advanced(trust, year_before, true);
    assert_eq!(change, Some(RotationStep::NextMade));
    assert_eq!(trust.current.root, first);
    let both = trust.bundle();
    assert_eq!(both.matches("BEGIN CERTIFICATE").count(), 2);

    let (trust, change) = advanced(trust, year_before + KNOWN_FOR - SignedDuration::from_secs(1), true);
    assert_eq!(change, None);
    let (trust, change) = advanced(trust, year_before + KNOWN_FOR, false);
    assert_eq!(change, None, "it signs although its certificate is not published");
    let promoted = year_before + KNOWN_FOR;
    let (trust, change) = advanced(trust, promoted, true);
    assert_eq!(change, Some(RotationStep::NextSigns));
    assert_ne!(trust.current.root, first);
    assert_eq!(trust.bundle(), both, "a change of roles alone changes the bundle");

    let (trust, change) = advanced(trust, promoted + TRUSTED_FOR - SignedDuration::from_secs(1), true);
    assert_eq!(change, None);
    let (trust, change) = advanced(trust, promoted + TRUSTED_FOR, true);
    assert_eq!(change, Some(RotationStep::PreviousForgotten));
    assert_eq!(trust.bundle(), trust.current.root.pem);
}

#[test]
fn an_authority_that_ended_while_nobody_ran_is_replaced_at_once() {
    let trust = AuthoritySet::make(at(start())).unwrap();
    let late = start() + AUTHORITY_LIFE;
    let (trust, change) = advanced(trust, late, false);
    assert_eq!(change, Some(RotationStep::NextMade));
    let (trust, change) = advanced(trust, late, false);
    assert_eq!(change, Some(RotationStep::NextSigns));
    assert!(trust.current.root.ends > late);
}

#[test]
fn what_cannot_be_read_is_named() {
    let whole = stored(&AuthoritySet::make(at(start())).unwrap());
    let without = |key: &str| {
        let mut secret = whole.clone();
        secret.data.as_mut().unwrap().remove(key);
        AuthoritySet::read(&secret).unwrap_err().to_string()
    };
    assert_eq!(without("tls.crt"), "tls.crt is missing or no text");
    assert_eq!(without("tls.key"), "tls.key is missing or no text");
    let mut mixed = whole.clone();
    let other = stored(&AuthoritySet::make(at(start())).unwrap());
    mixed.data.as_mut().unwrap().insert("tls.key".into(), other.data.unwrap()["tls.key"].clone());
    assert_eq!(AuthoritySet::read(&mixed).unwrap_err().to_string(), "tls.crt cannot be used");
}

#[test]
fn a_damaged_next_authority_is_made_anew() {
    let year_before = start() + AUTHORITY_LIFE - AUTHORITY_REPLACED_BEFORE;
    let (trust, _) = advanced(AuthoritySet::make(at(start())).unwrap(), year_before, true);
    let mut secret = stored(&trust);
    secret.data.as_mut().unwrap().insert("next.crt".into(), ByteString(b"?".to_vec()));
    let read = AuthoritySet::read(&secret).unwrap();
    assert_eq!(read.current.root, trust.current.root);
    let (_, change) = advanced(read, year_before, true);
    assert_eq!(change, Some(RotationStep::NextMade));
}
