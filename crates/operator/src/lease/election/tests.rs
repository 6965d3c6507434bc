//! Elections with a paused clock, against an API server in memory.

mod store;

use std::cell::Cell;
use std::convert::Infallible;
use std::future;

use super::*;
use store::{Behavior, Store};

const SECOND: Duration = Duration::from_secs(1);

fn election(store: &Store) -> Election {
    let settings = LeaseSettings {
        name: "lease".to_owned(),
        lease_duration: 15 * SECOND,
        renew_deadline: 10 * SECOND,
        retry_period: 2 * SECOND,
    };
    let metrics = LeaseMetrics::new(&mut vmafx_kit::metrics::Metrics::new("test"));
    Election::new(store.client(), "ns", settings, "us".to_owned(), metrics)
}

struct OnDrop<F: Fn()>(F);
impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Leads until the lease is lost for the first time; returns how long the work ran.
async fn lost_after(election: Election, on_start: impl Fn()) -> Duration {
    let (terms, started, lost) = (Cell::new(0), Cell::new(None), Cell::new(None));
    let work = |_| {
        terms.set(terms.get() + 1);
        started.set(Some(Instant::now()));
        on_start();
        async {
            let _dropped = OnDrop(|| lost.set(Some(Instant::now())));
            future::pending::<Result<(), Infallible>>().await
        }
    };
    let shutdown = Shutdown::new();
    let lead = election.lead(shutdown.clone(), work);
    let until_lost = async {
        while lost.get().is_none() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! { _ = lead => {}, () = until_lost => {} }
    assert_eq!(terms.get(), 1);
    lost.get().unwrap() - started.get().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_permit_counts_from_before_the_request_that_renewed_it() {
    let store = Store::default();
    store.set(Behavior::AnswersAfter(4 * SECOND));
    let election = election(&store);
    let permit = election.permit();
    let started = Instant::now();
    let lead = election.lead(Shutdown::new(), |_| {
        // Four seconds for the read, four for the claim.
        assert_eq!(started.elapsed(), 8 * SECOND);
        store.set(Behavior::Hangs);
        future::pending::<Result<(), Infallible>>()
    });
    let checks = async {
        sleep(Duration::from_millis(13_999)).await;
        assert!(permit.holds());
        sleep(Duration::from_millis(1)).await;
        assert!(!permit.holds(), "ten seconds after the claim was sent");
    };
    tokio::select! { _ = lead => panic!("it ended"), () = checks => {} }
}

#[tokio::test(start_paused = true)]
async fn a_leader_tries_every_retry_period_and_gives_up_at_the_renew_deadline() {
    let store = Store::default();
    let lost = lost_after(election(&store), || store.set(Behavior::Fails)).await;
    assert_eq!(lost, 10 * SECOND);
    assert_eq!(store.writes_refused(), 4, "after 2, 4, 6 and 8 seconds");
}

#[tokio::test(start_paused = true)]
async fn one_missing_answer_does_not_cost_the_lease() {
    let store = Store::default();
    let terms = Cell::new(0);
    let lead = election(&store).lead(Shutdown::new(), |_| {
        terms.set(terms.get() + 1);
        store.set(Behavior::HangsOnce);
        future::pending::<Result<(), Infallible>>()
    });
    tokio::select! { _ = lead => panic!("it ended"), () = sleep(Duration::from_mins(1)) => {} }
    assert_eq!(terms.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_was_written_but_not_answered_is_no_loss() {
    let store = Store::default();
    let terms = Cell::new(0);
    let lead = election(&store).lead(Shutdown::new(), |_| {
        terms.set(terms.get() + 1);
        store.set(Behavior::WritesAndHangsOnce);
        future::pending::<Result<(), Infallible>>()
    });
    tokio::select! { _ = lead => panic!("it ended"), () = sleep(Duration::from_mins(1)) => {} }
    assert_eq!(terms.get(), 1);
    assert_eq!(store.spec().lease_transitions, Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_shutdown_cancelled_is_released() {
    let store = Store::default();
    store.set(Behavior::WritesAndHangsOnce);
    let shutdown = Shutdown::new();
    let lead = election(&store).lead(shutdown.clone(), |_| future::pending::<Result<(), Infallible>>());
    let stop = async {
        sleep(SECOND).await;
        assert_eq!(store.spec().holder_identity.as_deref(), Some("us"));
        shutdown.begin();
    };
    let (ended, ()) = tokio::join!(lead, stop);
    ended.unwrap();
    assert_eq!(store.spec().holder_identity.as_deref(), Some(""));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_took_is_not_released() {
    let store = Store::default();
    let ended = election(&store).lead(Shutdown::new(), |_| {
        store.hand_to("thief");
        future::ready(Ok::<_, Infallible>(()))
    });
    ended.await.unwrap();
    assert_eq!(store.spec().holder_identity.as_deref(), Some("thief"));
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_not_answered_does_not_delay_the_exit() {
    let store = Store::default();
    let shutdown = Shutdown::new();
    let lead = election(&store).lead(shutdown.clone(), |child: Shutdown| async move {
        child.begun().await;
        Ok::<_, Infallible>(())
    });
    let stop = async {
        sleep(SECOND).await;
        store.set(Behavior::Hangs);
        shutdown.begin();
    };
    let started = Instant::now();
    let (ended, ()) = tokio::join!(lead, stop);
    ended.unwrap();
    assert_eq!(started.elapsed(), 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn work_that_fails_ends_the_election_and_releases_the_lease() {
    let store = Store::default();
    let ended = election(&store).lead(Shutdown::new(), |_| future::ready(Err("broken"))).await;
    assert_eq!(ended, Err("broken"));
    assert_eq!(store.spec().holder_identity.as_deref(), Some(""));
}

#[tokio::test(start_paused = true)]
async fn candidates_poll_at_least_twice_per_retry_period() {
    let store = Store::default();
    let election = election(&store);
    for _ in 0..100 {
        let interval = election.poll_interval();
        assert!(interval >= Duration::from_millis(800) && interval <= SECOND, "{interval:?}");
    }
}
