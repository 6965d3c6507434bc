//! Ends a source from another thread.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::ffmpeg::Child;

/// Stops one source. Cheap to clone; stopping twice, or after the end, does nothing.
#[derive(Clone)]
pub struct Stopper {
    asked: Arc<AtomicBool>,
    child: Option<Arc<Child>>,
}

impl Stopper {
    /// For a source in this process: the next frame is not read.
    pub(super) fn local() -> Self {
        Self { asked: Arc::default(), child: None }
    }

    /// For a source that waits for a decoder: killing it is what makes a blocked read return.
    pub(super) fn of_child(child: Arc<Child>) -> Self {
        Self { asked: Arc::default(), child: Some(child) }
    }

    /// Makes the source return [`super::InputError::Stopped`] from now on, also out of a read that is blocked.
    pub fn stop(&self) {
        // Before the kill, so that the reader which sees the pipe close knows why it did.
        self.asked.store(true, Ordering::SeqCst);
        if let Some(child) = &self.child {
            child.kill();
        }
    }

    /// Whether it was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Stopper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stopper").field("stopped", &self.is_stopped()).finish_non_exhaustive()
    }
}
