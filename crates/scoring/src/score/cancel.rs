//! Ends a comparison from outside.
//!
//! A comparison waits in places that cannot look at a token: in a read from a decoder that has nothing yet, or in libvmaf
//! for a picture. Stopping the sources frees both, so a watcher waits for the token and stops them, whoever waits.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tokio_util::sync::CancellationToken;

use super::ScoreError;
use crate::input::Stopper;

/// The sources that are open, to be stopped together.
#[derive(Debug)]
pub(super) struct Stops {
    token: CancellationToken,
    open: Mutex<Vec<Stopper>>,
}

impl Stops {
    /// Remembers a source; one that comes too late is stopped at once.
    pub(super) fn add(&self, stopper: Stopper) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Asked with the list locked: the watcher either finds the source in it, or was there before, and then the token
        // is cancelled.
        if self.token.is_cancelled() {
            stopper.stop();
        }
        open.push(stopper);
    }

    /// Forgets all sources: they are closed.
    pub(super) fn clear(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Whether it is over.
    pub(super) fn check(&self) -> Result<(), ScoreError> {
        if self.token.is_cancelled() { Err(ScoreError::Cancelled) } else { Ok(()) }
    }

    /// What ends it all.
    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    fn stop(&self) {
        for stopper in self.open.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            stopper.stop();
        }
    }
}

/// Does the work and stops its sources when the token is cancelled. What fails because of that is reported as what it is.
pub(super) fn cancellable<T>(
    token: &CancellationToken,
    work: impl FnOnce(&Stops) -> Result<T, ScoreError>,
) -> Result<T, ScoreError> {
    let stops = Stops { token: token.clone(), open: Mutex::default() };
    if token.is_cancelled() {
        return Err(ScoreError::Cancelled);
    }
    // Cancelled by the token or by the end of the work, whatever comes first; the watcher cannot stay behind.
    let done = token.child_token();
    thread::scope(|scope| {
        let finished = done.clone().drop_guard();
        scope.spawn(|| {
            wait(done.cancelled());
            if token.is_cancelled() {
                stops.stop();
            }
        });
        let result = work(&stops);
        drop(finished);
        match result {
            Err(_) if token.is_cancelled() => Err(ScoreError::Cancelled),
            result => result,
        }
    })
}

/// Wakes a parked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future in this thread; a runtime would be a large guest for one flag.
fn wait(future: impl Future<Output = ()>) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    while future.as_mut().poll(&mut context) == Poll::Pending {
        thread::park();
    }
}
