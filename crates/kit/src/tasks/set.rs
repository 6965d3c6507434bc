//! The tasks of a process, and the one loop that watches them.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::Stream;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tracing::Instrument;

use super::error::{BoxError, TaskError};
use super::shutdown::Shutdown;
use super::signals::Signal;
use crate::config::GoDuration;
use crate::logs::panics;

/// When a task may end, and what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Runs until shutdown.
    Service,
    /// May end by itself.
    Finite,
    /// Runs until all others have ended.
    Support,
}

/// Named tasks. Dropping the set aborts them.
///
/// A task that needs tasks of its own owns a set of its own: nesting keeps every panic on its way up.
#[derive(Debug, Default)]
pub struct TaskSet {
    running: JoinSet<Result<(), BoxError>>,
    names: HashMap<Id, (String, Kind)>,
    shutdown: Shutdown,
    last_call: Shutdown,
}

impl TaskSet {
    /// No tasks yet; `shutdown` is what services listen to.
    pub fn new(shutdown: Shutdown) -> Self {
        Self { shutdown, ..Self::default() }
    }

    /// What services and finite tasks listen to.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Adds a task that runs until shutdown; it ends the process if it returns before.
    pub fn service<F, E>(&mut self, name: impl Into<String>, task: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.add(name.into(), Kind::Service, task);
    }

    /// Adds a task that may come to an end by itself; an error or a panic of it still ends the process.
    pub fn finite<F, E>(&mut self, name: impl Into<String>, task: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.add(name.into(), Kind::Finite, task);
    }

    /// Adds a task that serves the others: the [`Shutdown`] it is given begins when all of those have ended.
    pub fn support<F, E>(&mut self, name: impl Into<String>, task: impl FnOnce(Shutdown) -> F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let task = task(self.last_call.clone());
        self.add(name.into(), Kind::Support, task);
    }

    fn add<F, E>(&mut self, name: String, kind: Kind, task: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let span = tracing::info_span!("task", task = name);
        let id = self.running.spawn(async { task.await.map_err(Into::into) }.instrument(span)).id();
        self.names.insert(id, (name, kind));
    }

    /// Watches the tasks until all have ended: by themselves, or because shutdown began and they stopped within
    /// `budget`. The error is the first thing that went wrong; later ones are logged.
    pub async fn run(
        mut self,
        mut signals: impl Stream<Item = Signal> + Unpin,
        budget: GoDuration,
    ) -> Result<(), TaskError> {
        let mut first = None;
        let mut listening = true;
        let mut deadline: Option<Instant> = None;
        loop {
            if self.shutdown.has_begun() && deadline.is_none() {
                deadline = Some(end_of(budget.0));
                tracing::info!(budget = %budget, tasks = ?self.names_left(), "shutting down");
            }
            if self.running.is_empty() {
                return first.map_or(Ok(()), Err);
            }
            if self.names.values().all(|(_, kind)| *kind == Kind::Support) && !self.last_call.has_begun() {
                // The end of the last finite task begins the shutdown too, and with it the budget.
                self.shutdown.begin();
                self.last_call.begin();
                continue;
            }
            tokio::select! {
                biased;
                Some(ended) = self.running.join_next_with_id() => {
                    if let Some(problem) = self.ended(ended) {
                        self.shutdown.begin();
                        keep_first(&mut first, problem);
                    }
                }
                signal = signals.next(), if listening => match signal {
                    None => listening = false,
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

    /// What went wrong, if the end of this task is something wrong.
    fn ended(&mut self, ended: Result<(Id, Result<(), BoxError>), JoinError>) -> Option<TaskError> {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let (task, kind) = self.names.remove(&id)?;
        let may_end = match kind {
            Kind::Service => self.shutdown.has_begun(),
            Kind::Finite => true,
            Kind::Support => self.last_call.has_begun(),
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
                // Only this set aborts its tasks, and it does not look at them afterwards.
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

fn keep_first(first: &mut Option<TaskError>, problem: TaskError) {
    if first.is_none() {
        *first = Some(problem);
    } else {
        tracing::error!(error = &problem as &dyn std::error::Error, "and then");
    }
}

/// A budget too long for the clock is no limit in practice; a year is as good.
fn end_of(budget: Duration) -> Instant {
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
