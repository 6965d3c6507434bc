//! What becomes of keys, by a clock that stands still.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;
use tokio::time::advance;
use vmafx_kit::metrics::Metrics;

use super::*;
use crate::runtime::Notifier;

type Answer = fn(usize) -> Result<Option<RequeueAfter>, ReconcileError>;

/// Answers by how often a key came, and keeps what happened when.
struct Script {
    begun: Instant,
    answers: Vec<(&'static str, Answer)>,
    gate: Semaphore,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
    seen: Mutex<Vec<(String, u128)>>,
}

impl Reconcile for Script {
    const KIND: WatchedKind = WatchedKind::Node;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Option<RequeueAfter>, ReconcileError> {
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        let seen = (key.name.clone(), self.begun.elapsed().as_millis());
        let turn = {
            let mut all = self.seen.lock().unwrap();
            all.push(seen);
            all.iter().filter(|(name, _)| *name == key.name).count()
        };
        drop(self.gate.acquire().await.unwrap());
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        let (_, answer) = self.answers.iter().find(|(name, _)| *name == key.name).expect("a known key");
        answer(turn)
    }
}

impl Script {
    fn new(answers: Vec<(&'static str, Answer)>) -> Arc<Self> {
        Arc::new(Self {
            begun: Instant::now(),
            answers,
            gate: Semaphore::new(1000),
            at_once: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
            seen: Mutex::default(),
        })
    }

    /// When a key was looked at, in milliseconds since the beginning.
    fn times(&self, name: &str) -> Vec<u128> {
        self.seen.lock().unwrap().iter().filter(|(seen, _)| seen == name).map(|(_, at)| *at).collect()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "an answer like any other")]
fn done(_: usize) -> Result<Option<RequeueAfter>, ReconcileError> {
    Ok(None)
}

fn fails(_: usize) -> Result<Option<RequeueAfter>, ReconcileError> {
    Err(ReconcileError { reason: Reason::SyncFailed, retry: Retry::Later, source: "no".into() })
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("video", name)
}

/// Runs a controller beside `play`, until that ends.
async fn beside(script: &Arc<Script>, at_once: usize, first: &[&str], play: impl AsyncFnOnce(Notifier)) {
    let (notifier, shutdown) = (Notifier::default(), Shutdown::new());
    let metrics = RuntimeMetrics::new(&mut Metrics::new("1"));
    let controller = Controller::new(Arc::clone(script), at_once, notifier.subscribe(), metrics);
    let keys: Vec<_> = first.iter().map(|name| key(name)).collect();
    let stop = shutdown.clone();
    let playing = async {
        play(notifier).await;
        stop.begin();
    };
    let (ended, ()) = tokio::join!(controller.run(keys, shutdown), playing);
    let Ok(()) = ended;
}

/// Lets time pass in small steps, so that everybody acts when it is time.
async fn pass(milliseconds: u64) {
    for _ in 0..milliseconds / 5 {
        advance(Duration::from_millis(5)).await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_key_has_a_back_off_of_its_own_that_begins_anew_after_success() {
    let recovers: Answer = |turn| if turn == 3 { Ok(None) } else { fails(turn) };
    let script = Script::new(vec![("bad", fails), ("recovers", recovers), ("good", done)]);
    beside(&script, 4, &["bad", "recovers", "good"], async |notifier| {
        pass(10_000).await;
        notifier.notify(key("recovers")).await;
        pass(1_000).await;
    })
    .await;
    assert_eq!(script.times("good").len(), 1);
    let pauses: Vec<_> = script.times("bad").windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.len() >= 4 && pauses.windows(2).all(|pair| pair[1] > pair[0]), "{pauses:?}");
    let times = script.times("recovers");
    let after = times[4] - times[3];
    assert!((370..=640).contains(&after), "the first pause again: {times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_stops_nobody_else_and_comes_back_slowly() {
    let panics: Answer = |_| panic!("a bug");
    let again: Answer = |_| Ok(Some(RequeueAfter(Duration::from_secs(1))));
    let script = Script::new(vec![("bug", panics), ("well", again)]);
    beside(&script, 2, &["bug", "well"], async |_| pass(10_000).await).await;
    assert_eq!(script.times("bug").len(), 1);
    assert!(script.times("well").len() >= 9, "{:?}", script.times("well"));
}

#[tokio::test(start_paused = true)]
async fn no_more_run_at_once_than_may_and_nothing_is_forgotten() {
    let script = Script::new(vec![("a", done), ("b", done), ("c", done), ("d", done), ("e", done)]);
    script.gate.forget_permits(1000);
    beside(&script, 2, &["a", "b", "c", "d", "e"], async |notifier| {
        pass(50).await;
        assert_eq!(script.seen.lock().unwrap().len(), 2);
        // Something happens to one that is in work: it comes again, and never twice at a time.
        notifier.notify(key("a")).await;
        script.gate.add_permits(1000);
        pass(50).await;
    })
    .await;
    assert_eq!(script.most_at_once.load(Ordering::SeqCst), 2);
    assert_eq!(script.seen.lock().unwrap().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_never_ends_is_given_up() {
    let script = Script::new(vec![("stuck", done), ("well", done)]);
    script.gate.forget_permits(1000);
    beside(&script, 1, &["stuck"], async |notifier| {
        pass(u64::try_from(DEADLINE.as_millis()).unwrap() - 1_000).await;
        notifier.notify(key("well")).await;
        pass(500).await;
        assert!(script.times("well").is_empty(), "the only worker is busy");
        pass(1_500).await;
        assert_eq!(script.times("well").len(), 1);
        script.gate.add_permits(1000);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn at_the_end_what_is_under_way_is_finished_and_nothing_new_begun() {
    let script = Script::new(vec![("first", done), ("second", done)]);
    script.gate.forget_permits(1000);
    let (notifier, shutdown) = (Notifier::default(), Shutdown::new());
    let metrics = RuntimeMetrics::new(&mut Metrics::new("1"));
    let controller = Controller::new(Arc::clone(&script), 1, notifier.subscribe(), metrics);
    let running = controller.run([key("first"), key("second")], shutdown.clone());
    tokio::pin!(running);
    assert!(futures::poll!(&mut running).is_pending());
    tokio::task::yield_now().await;
    shutdown.begin();
    assert!(futures::poll!(&mut running).is_pending(), "the first is under way");
    script.gate.add_permits(1);
    let Ok(()) = running.await;
    assert_eq!(script.seen.lock().unwrap().len(), 1);
}
