//! Cancels a comparison from another thread.
//!
//! A comparison blocks in calls that cannot check a token: in a read from a decoder, or in libvmaf until a picture is free.
//! Stopping the sources ends both, so a watcher thread waits for the token and stops all open sources.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tokio_util::sync::CancellationToken;

use super::ScoreError;
use crate::input::StopHandle;

/// The open sources, which are stopped together.
#[derive(Debug)]
pub(super) struct OpenSources {
    token: CancellationToken,
    open: Mutex<Vec<StopHandle>>,
}

impl OpenSources {
    /// Adds a source. If the comparison is cancelled already, the source is stopped at once.
    pub(super) fn add(&self, handle: StopHandle) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Checked while the list is locked: the watcher either finds the source in the list, or has stopped the others before,
        // and then the token is cancelled.
        if self.token.is_cancelled() {
            handle.stop();
        }
        open.push(handle);
    }

    /// Removes all sources, which are closed now.
    pub(super) fn clear(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(super) fn check_cancelled(&self) -> Result<(), ScoreError> {
        if self.token.is_cancelled() { Err(ScoreError::Cancelled) } else { Ok(()) }
    }

    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    fn stop(&self) {
        for handle in self.open.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            handle.stop();
        }
    }
}

/// Runs `work` and stops its sources when the token is cancelled. An error after that is reported as the cancellation.
pub(super) fn cancellable<T>(
    token: &CancellationToken,
    work: impl FnOnce(&OpenSources) -> Result<T, ScoreError>,
) -> Result<T, ScoreError> {
    let sources = OpenSources { token: token.clone(), open: Mutex::default() };
    if token.is_cancelled() {
        return Err(ScoreError::Cancelled);
    }
    // Cancelled by the token or at the end of the work, so that the watcher always ends.
    let done = token.child_token();
    thread::scope(|scope| {
        let finished = done.clone().drop_guard();
        scope.spawn(|| {
            wait(done.cancelled());
            if token.is_cancelled() {
                sources.stop();
            }
        });
        let result = work(&sources);
        drop(finished);
        match result {
            Err(_) if token.is_cancelled() => Err(ScoreError::Cancelled),
            result => result,
        }
    })
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future in this thread, because one flag does not justify an async runtime.
fn wait(future: impl Future<Output = ()>) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    while future.as_mut().poll(&mut context) == Poll::Pending {
        thread::park();
    }
}
