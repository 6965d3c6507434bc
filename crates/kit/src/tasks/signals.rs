//! The signals that ask a process to stop.

use futures::stream::{self, Stream};
use tokio::signal::unix::{SignalKind, signal};

use super::error::TaskError;

/// A signal that asks the process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// From an orchestrator.
    Terminate,
    /// From a keyboard.
    Interrupt,
}

/// The signals of this process, from now on: its default handlers, which would end it at once, are replaced.
pub fn signals() -> Result<impl Stream<Item = Signal> + Send + Unpin, TaskError> {
    let terminate = signal(SignalKind::terminate()).map_err(TaskError::Signals)?;
    let interrupt = signal(SignalKind::interrupt()).map_err(TaskError::Signals)?;
    let next =
        |(mut terminate, mut interrupt): (tokio::signal::unix::Signal, tokio::signal::unix::Signal)| async {
            let seen = tokio::select! {
                seen = terminate.recv() => seen.map(|()| Signal::Terminate),
                seen = interrupt.recv() => seen.map(|()| Signal::Interrupt),
            };
            seen.map(|signal| (signal, (terminate, interrupt)))
        };
    Ok(Box::pin(stream::unfold((terminate, interrupt), next)))
}
