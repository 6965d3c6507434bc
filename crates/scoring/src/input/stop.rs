//! Stops a source from another thread.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::ffmpeg::Child;

/// Stops one source. It is cheap to clone; stopping twice, or after the end, does nothing.
#[derive(Clone)]
pub struct StopHandle {
    stopped: Arc<AtomicBool>,
    child: Option<Arc<Child>>,
}

impl StopHandle {
    /// For a source in this process, which reads no further frame.
    pub(super) fn of_file() -> Self {
        Self { stopped: Arc::default(), child: None }
    }

    /// For a source that reads from a decoder: killing the decoder makes a blocked read return.
    pub(super) fn of_child(child: Arc<Child>) -> Self {
        Self { stopped: Arc::default(), child: Some(child) }
    }

    /// Makes the source return [`super::InputError::Stopped`] from now on, also from a read that is blocked.
    pub fn stop(&self) {
        // Set before the kill, so that the reader knows why the pipe closes.
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(child) = &self.child {
            child.kill();
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for StopHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopHandle").field("stopped", &self.is_stopped()).finish_non_exhaustive()
    }
}
