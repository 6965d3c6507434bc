//! Scheduling of keys, with a paused clock.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;
use tokio::time::advance;
use vmafx_kit::metrics::Metrics;

use super::*;
use crate::runtime::Notifier;

type PassResult = fn(usize) -> Result<Option<RequeueAfter>, ReconcileError>;

/// Returns scripted results by the number of the pass over a key, and records when each pass began.
struct Script {
    started: Instant,
    results: Vec<(&'static str, PassResult)>,
    gate: Semaphore,
    running: AtomicUsize,
    max_running: AtomicUsize,
    passes: Mutex<Vec<(String, u128)>>,
}

impl Reconcile for Script {
    const KIND: WatchedKind = WatchedKind::Node;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Option<RequeueAfter>, ReconcileError> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_running.fetch_max(running, Ordering::SeqCst);
        let pass = (key.name.clone(), self.started.elapsed().as_millis());
        let number = {
            let mut passes = self.passes.lock().unwrap();
            passes.push(pass);
            passes.iter().filter(|(name, _)| *name == key.name).count()
        };
        drop(self.gate.acquire().await.unwrap());
        self.running.fetch_sub(1, Ordering::SeqCst);
        let (_, result) = self.results.iter().find(|(name, _)| *name == key.name).expect("a scripted key");
        result(number)
    }
}

impl Script {
    fn new(results: Vec<(&'static str, PassResult)>) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            results,
            gate: Semaphore::new(1000),
            running: AtomicUsize::new(0),
            max_running: AtomicUsize::new(0),
            passes: Mutex::default(),
        })
    }

    /// When the passes over a key began, in milliseconds since the start.
    fn times(&self, name: &str) -> Vec<u128> {
        let passes = self.passes.lock().unwrap();
        passes.iter().filter(|(key, _)| key == name).map(|(_, at)| *at).collect()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a result like any other")]
fn done(_: usize) -> Result<Option<RequeueAfter>, ReconcileError> {
    Ok(None)
}

fn fails(_: usize) -> Result<Option<RequeueAfter>, ReconcileError> {
    Err(ReconcileError { reason: Reason::SyncFailed, retry: Retry::Later, source: "no".into() })
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("video", name)
}

/// Runs a controller while `test` runs.
async fn during(script: &Arc<Script>, concurrency: usize, first: &[&str], test: impl AsyncFnOnce(Notifier)) {
    let (notifier, shutdown) = (Notifier::default(), Shutdown::new());
    let metrics = RuntimeMetrics::new(&mut Metrics::new("1"));
    let controller = Controller::new(Arc::clone(script), concurrency, notifier.subscribe(), metrics);
    let keys: Vec<_> = first.iter().map(|name| key(name)).collect();
    let stop = shutdown.clone();
    let tested = async {
        test(notifier).await;
        stop.begin();
    };
    let (Ok(()), ()) = tokio::join!(controller.run(keys, shutdown), tested);
}

/// Advances the clock in small steps, so that every task runs when its timer fires.
async fn advance_by(milliseconds: u64) {
    for _ in 0..milliseconds / 5 {
        advance(Duration::from_millis(5)).await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_key_has_its_own_back_off_that_starts_again_after_success() {
    let recovers: PassResult = |number| if number == 3 { Ok(None) } else { fails(number) };
    let script = Script::new(vec![("bad", fails), ("recovers", recovers), ("good", done)]);
    during(&script, 4, &["bad", "recovers", "good"], async |notifier| {
        advance_by(10_000).await;
        notifier.notify(key("recovers")).await;
        advance_by(1_000).await;
    })
    .await;
    assert_eq!(script.times("good").len(), 1);
    let delays: Vec<_> = script.times("bad").windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(delays.len() >= 4 && delays.windows(2).all(|pair| pair[1] > pair[0]), "{delays:?}");
    let times = script.times("recovers");
    let after = times[4] - times[3];
    assert!((370..=640).contains(&after), "the first delay again: {times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_does_not_affect_other_keys_and_is_retried_slowly() {
    let panics: PassResult = |_| panic!("a bug");
    let again: PassResult = |_| Ok(Some(RequeueAfter(Duration::from_secs(1))));
    let script = Script::new(vec![("bug", panics), ("well", again)]);
    during(&script, 2, &["bug", "well"], async |_| advance_by(10_000).await).await;
    assert_eq!(script.times("bug").len(), 1);
    assert!(script.times("well").len() >= 9, "{:?}", script.times("well"));
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_limited_and_no_key_is_lost() {
    let script = Script::new(vec![("a", done), ("b", done), ("c", done), ("d", done), ("e", done)]);
    script.gate.forget_permits(1000);
    during(&script, 2, &["a", "b", "c", "d", "e"], async |notifier| {
        advance_by(50).await;
        assert_eq!(script.passes.lock().unwrap().len(), 2);
        // A key that changes while it is in work is reconciled again, but never concurrently.
        notifier.notify(key("a")).await;
        script.gate.add_permits(1000);
        advance_by(50).await;
    })
    .await;
    assert_eq!(script.max_running.load(Ordering::SeqCst), 2);
    assert_eq!(script.passes.lock().unwrap().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_never_finishes_is_cancelled() {
    let script = Script::new(vec![("stuck", done), ("well", done)]);
    script.gate.forget_permits(1000);
    during(&script, 1, &["stuck"], async |notifier| {
        advance_by(u64::try_from(DEADLINE.as_millis()).unwrap() - 1_000).await;
        notifier.notify(key("well")).await;
        advance_by(500).await;
        assert!(script.times("well").is_empty(), "the only slot is taken");
        advance_by(1_500).await;
        assert_eq!(script.times("well").len(), 1);
        script.gate.add_permits(1000);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_running_reconciles_and_starts_no_others() {
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
    assert!(futures::poll!(&mut running).is_pending(), "the first is running");
    script.gate.add_permits(1);
    let Ok(()) = running.await;
    assert_eq!(script.passes.lock().unwrap().len(), 1);
}
