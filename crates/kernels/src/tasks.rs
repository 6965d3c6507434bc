//! Work that several threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Work that any thread can do.
pub type Task<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Runs tasks that do not depend on each other.
pub trait TaskRunner {
    /// Tasks that run at the same time at most, as far as is known before they start.
    fn threads(&self) -> usize;

    /// Returns when all tasks have ended.
    fn run(&mut self, tasks: Vec<Task<'_>>);
}

/// Runs tasks one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential;

impl TaskRunner for Sequential {
    fn threads(&self) -> usize {
        1
    }

    fn run(&mut self, tasks: Vec<Task<'_>>) {
        for task in tasks {
            task();
        }
    }
}

/// Locks what is as it was if a thread panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
