use rstest::rstest;

use super::*;

const US: &str = "us";
const FIFTEEN: Duration = Duration::from_secs(15);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn lease(holder: &str, renewed: i64) -> Lease {
    let spec = LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(15),
        lease_transitions: Some(3),
        acquire_time: Some(MicroTime(at(0))),
        renew_time: Some(MicroTime(at(renewed))),
        ..LeaseSpec::default()
    };
    Lease { spec: Some(spec), ..Lease::default() }
}

fn held(by: &str) -> LeaseStanding {
    LeaseStanding::Held { by: by.to_owned() }
}

fn after(start: Instant, seconds: u64) -> Instant {
    start + Duration::from_secs(seconds)
}

#[rstest]
#[case::just_observed("them", 0, held("them"))]
#[case::almost_expired("them", 14, held("them"))]
#[case::expired("them", 15, LeaseStanding::Free)]
#[case::ours("us", 0, LeaseStanding::Ours)]
#[case::ours_however_old("us", 100, LeaseStanding::Ours)]
#[case::released("", 0, LeaseStanding::Free)]
fn a_lease_expires_by_the_clock_of_the_candidate(
    #[case] holder: &str,
    #[case] seconds: u64,
    #[case] expected: LeaseStanding,
) {
    let start = Instant::now();
    // The timestamps in the record are years old and do not count.
    let observed = ObservedLease::new(None, lease(holder, 0), start);
    let again = ObservedLease::new(Some(observed), lease(holder, 0), after(start, seconds));
    assert_eq!(again.standing(US, FIFTEEN, after(start, seconds)), expected);
}

#[test]
fn a_renewal_restarts_the_duration() {
    let start = Instant::now();
    let observed = ObservedLease::new(None, lease("them", 0), start);
    let renewed = ObservedLease::new(Some(observed), lease("them", 2), after(start, 14));
    assert_eq!(renewed.standing(US, FIFTEEN, after(start, 28)), held("them"));
    assert_eq!(renewed.standing(US, FIFTEEN, after(start, 29)), LeaseStanding::Free);
}

#[test]
fn a_new_label_is_not_a_renewal() {
    let start = Instant::now();
    let observed = ObservedLease::new(None, lease("them", 0), start);
    let mut labelled = lease("them", 0);
    labelled.metadata.resource_version = Some("2".to_owned());
    labelled.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    let again = ObservedLease::new(Some(observed), labelled.clone(), after(start, 15));
    assert_eq!(again.standing(US, FIFTEEN, after(start, 15)), LeaseStanding::Free);
    assert_eq!(again.lease, labelled, "the newest version is replaced");
}

#[rstest]
#[case::longer_than_ours(Some(30), 29, held("them"))]
#[case::shorter_than_ours(Some(5), 5, LeaseStanding::Free)]
#[case::none(None, 14, held("them"))]
#[case::none_and_expired(None, 15, LeaseStanding::Free)]
#[case::nonsense(Some(-1), 14, held("them"))]
fn the_duration_is_the_one_that_the_holder_wrote(
    #[case] written: Option<i32>,
    #[case] seconds: u64,
    #[case] expected: LeaseStanding,
) {
    let start = Instant::now();
    let mut lease = lease("them", 0);
    lease.spec.as_mut().unwrap().lease_duration_seconds = written;
    let observed = ObservedLease::new(None, lease, start);
    assert_eq!(observed.standing(US, FIFTEEN, after(start, seconds)), expected);
}

#[test]
fn an_empty_lease_is_free() {
    let observed = ObservedLease::new(None, Lease::default(), Instant::now());
    assert_eq!(observed.standing(US, FIFTEEN, Instant::now()), LeaseStanding::Free);
}

#[test]
fn the_first_claim_is_no_transition() {
    let spec = claimed(None, US, FIFTEEN, at(5));
    let expected = LeaseSpec {
        holder_identity: Some(US.to_owned()),
        lease_duration_seconds: Some(15),
        lease_transitions: Some(0),
        acquire_time: Some(MicroTime(at(5))),
        renew_time: Some(MicroTime(at(5))),
        ..LeaseSpec::default()
    };
    assert_eq!(spec, expected);
}

#[rstest]
#[case::renewed("us", 3, 0)]
#[case::taken_over("them", 4, 5)]
#[case::taken_after_release("", 4, 5)]
fn a_claim_counts_transitions_and_keeps_the_time_of_acquisition(
    #[case] before: &str,
    #[case] transitions: i32,
    #[case] acquired: i64,
) {
    let spec = claimed(lease(before, 2).spec.as_ref(), US, FIFTEEN, at(5));
    assert_eq!(spec.holder_identity.as_deref(), Some(US));
    assert_eq!(spec.lease_transitions, Some(transitions));
    assert_eq!(spec.acquire_time, Some(MicroTime(at(acquired))));
    assert_eq!(spec.renew_time, Some(MicroTime(at(5))));
}

#[test]
fn a_released_lease_has_no_holder_and_keeps_its_transitions() {
    let spec = released(&lease(US, 2).spec.unwrap(), at(5));
    assert_eq!(spec.holder_identity.as_deref(), Some(""));
    assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(1), Some(3)));
}

#[rstest]
#[case(Duration::from_secs(15), 15)]
#[case(Duration::from_millis(15_001), 16)]
#[case(Duration::MAX, i32::MAX)]
fn the_record_never_says_less_than_the_settings(#[case] duration: Duration, #[case] seconds: i32) {
    assert_eq!(claimed(None, US, duration, at(0)).lease_duration_seconds, Some(seconds));
}
