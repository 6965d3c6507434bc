//! The tasks of a process, and the loop that supervises them.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::Stream;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tracing::Instrument;

use super::error::{BoxError, TaskError};
use super::shutdown::Shutdown;
use super::signals::StopSignal;
use crate::config::GoDuration;
use crate::logs::panics;

/// Decides when a task may end; see the table in [`super`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskKind {
    Service,
    Finite,
    Support,
}

/// Named tasks. Dropping the set aborts them.
///
/// A task that needs subtasks owns a nested set, so that their panics reach this one.
#[derive(Debug, Default)]
pub struct TaskSet {
    running: JoinSet<Result<(), BoxError>>,
    names: HashMap<Id, (String, TaskKind)>,
    shutdown: Shutdown,
    support_shutdown: Shutdown,
}

impl TaskSet {
    /// Without tasks. `shutdown` is the signal that services and finite tasks wait for.
    pub fn new(shutdown: Shutdown) -> Self {
        Self { shutdown, ..Self::default() }
    }

    /// The signal that services and finite tasks wait for.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Adds a task that runs until shutdown; if it returns earlier, the process stops with an error.
    pub fn service<F, E>(&mut self, name: impl Into<String>, task: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.add(name.into(), TaskKind::Service, task);
    }

    /// Adds a task that may end by itself; an error or a panic in it still stops the process.
    pub fn finite<F, E>(&mut self, name: impl Into<String>, task: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.add(name.into(), TaskKind::Finite, task);
    }

    /// Adds a task that serves the others: the [`Shutdown`] it is given begins when all of those have ended.
    pub fn support<F, E>(&mut self, name: impl Into<String>, task: impl FnOnce(Shutdown) -> F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let task = task(self.support_shutdown.clone());
        self.add(name.into(), TaskKind::Support, task);
    }

    fn add<F, E>(&mut self, name: String, kind: TaskKind, task: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let span = tracing::info_span!("task", task = name);
        let id = self.running.spawn(async { task.await.map_err(Into::into) }.instrument(span)).id();
        self.names.insert(id, (name, kind));
    }

    /// Supervises the tasks until all have ended: by themselves, or within `budget` once shutdown began. The error
    /// is the first failure; later ones are logged.
    pub async fn run(
        mut self,
        mut signals: impl Stream<Item = StopSignal> + Unpin,
        budget: GoDuration,
    ) -> Result<(), TaskError> {
        let mut first = None;
        let mut signals_open = true;
        let mut deadline: Option<Instant> = None;
        loop {
            if self.shutdown.has_begun() && deadline.is_none() {
                deadline = Some(deadline_after(budget.0));
                tracing::info!(budget = %budget, tasks = ?self.names_left(), "shutting down");
            }
            if self.running.is_empty() {
                return first.map_or(Ok(()), Err);
            }
            if self.names.values().all(|(_, kind)| *kind == TaskKind::Support)
                && !self.support_shutdown.has_begun()
            {
                // The end of the last finite task also begins the shutdown, and with it the budget.
                self.shutdown.begin();
                self.support_shutdown.begin();
                continue;
            }
            tokio::select! {
                biased;
                Some(ended) = self.running.join_next_with_id() => {
                    if let Some(failure) = self.ended(ended) {
                        self.shutdown.begin();
                        keep_first(&mut first, failure);
                    }
                }
                signal = signals.next(), if signals_open => match signal {
                    None => signals_open = false,
                    Some(signal) if self.shutdown.has_begun() => {
                        tracing::warn!(?signal, "a second signal: stopping at once");
                        keep_first(&mut first, TaskError::Interrupted { tasks: self.names_left() });
                        return first.map_or(Ok(()), Err);
                    }
                    Some(signal) => {
                        tracing::info!(?signal, "signal received");
                        self.shutdown.begin();
                    }
                },
                () = self.shutdown.begun(), if deadline.is_none() => {}
                () = sleep_until(deadline) => {
                    keep_first(&mut first, TaskError::Overdue { budget, tasks: self.names_left() });
                    return first.map_or(Ok(()), Err);
                }
            }
        }
    }

    /// The failure, if this task ended in a way that its kind does not permit.
    fn ended(&mut self, ended: Result<(Id, Result<(), BoxError>), JoinError>) -> Option<TaskError> {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let (task, kind) = self.names.remove(&id)?;
        let may_end = match kind {
            TaskKind::Service => self.shutdown.has_begun(),
            TaskKind::Finite => true,
            TaskKind::Support => self.support_shutdown.has_begun(),
        };
        match ended {
            Ok((_, Ok(()))) if may_end => {
                tracing::debug!(task, "task ended");
                None
            }
            Ok((_, Ok(()))) => Some(TaskError::Ended { task }),
            Ok((_, Err(source))) => Some(TaskError::Failed { task, source }),
            Err(error) => match error.try_into_panic() {
                Ok(payload) => {
                    Some(TaskError::Panicked { task, message: panics::message(payload.as_ref()).to_owned() })
                }
                // Tasks are aborted only when the set is dropped, and nothing is joined after that.
                Err(_) => None,
            },
        }
    }

    fn names_left(&self) -> Vec<String> {
        let mut names: Vec<_> = self.names.values().map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }
}

fn keep_first(first: &mut Option<TaskError>, failure: TaskError) {
    if first.is_none() {
        *first = Some(failure);
    } else {
        tracing::error!(error = &failure as &dyn std::error::Error, "another task failed during shutdown");
    }
}

/// A budget that overflows the clock is cut to a year, which is no limit in practice.
fn deadline_after(budget: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(budget).unwrap_or(now + Duration::from_hours(365 * 24))
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
