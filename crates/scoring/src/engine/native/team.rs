//! Threads that measure one frame together.

use std::mem;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

use vmafx_kernels::{Task, TaskRunner};

/// Runs tasks in the caller's thread, and in others that end with the tasks.
///
/// Starting a thread costs some 20 µs, a few times per frame. The threads of a session start others only while some of the
/// session's own are idle, so that a clip with more frames than threads pays nothing.
pub(super) struct Team<'a> {
    threads: usize,
    /// Tasks that run together with those of the first call.
    waiting: Vec<Task<'a>>,
}

impl<'a> Team<'a> {
    pub(super) fn new(threads: usize, waiting: Vec<Task<'a>>) -> Self {
        Self { threads: threads.max(1), waiting }
    }
}

impl TaskRunner for Team<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&mut self, tasks: Vec<Task<'_>>) {
        let tasks: Vec<Task<'_>> = mem::take(&mut self.waiting).into_iter().chain(tasks).collect();
        let helpers = self.threads.min(tasks.len()).saturating_sub(1);
        let tasks = Mutex::new(tasks.into_iter());
        let work = || {
            loop {
                let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(task) = task else { return };
                task();
            }
        };
        thread::scope(|scope| {
            for _ in 0..helpers {
                // A thread that cannot be started leaves its tasks to the others.
                let _ = Builder::new().name("help".to_owned()).spawn_scoped(scope, work);
            }
            work();
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn tasks_that_wait_run_with_those_of_the_first_call() {
        for threads in 1..4 {
            let done = Mutex::new(Vec::new());
            let done = &done;
            let task = |name: u32| -> Task<'_> { Box::new(move || done.lock().unwrap().push(name)) };
            let mut team = Team::new(threads, vec![task(1), task(2)]);
            team.run(vec![task(3)]);
            assert_eq!(
                done.lock().unwrap().iter().copied().collect::<HashSet<_>>(),
                HashSet::from([1, 2, 3])
            );
            team.run(vec![task(4)]);
            assert_eq!(done.lock().unwrap().len(), 4);
        }
    }

    #[test]
    fn tasks_run_at_the_same_time() {
        // Each task waits for the others.
        let barrier = Barrier::new(3);
        let task = || -> Task<'_> {
            Box::new(|| {
                barrier.wait();
            })
        };
        Team::new(3, Vec::new()).run(vec![task(), task(), task()]);
    }
}
