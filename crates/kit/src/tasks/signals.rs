use futures::stream::{self, Stream};
use tokio::signal::unix::{SignalKind, signal};

use super::error::TaskError;

/// A signal that asks the process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM, which orchestrators send.
    Terminate,
    /// SIGINT, as sent by Ctrl-C.
    Interrupt,
}

/// The signals that this process receives from now on. The default handlers, which would end it at once, are replaced.
pub fn signals() -> Result<impl Stream<Item = StopSignal> + Send + Unpin, TaskError> {
    let terminate = signal(SignalKind::terminate()).map_err(TaskError::Signals)?;
    let interrupt = signal(SignalKind::interrupt()).map_err(TaskError::Signals)?;
    let next =
        |(mut terminate, mut interrupt): (tokio::signal::unix::Signal, tokio::signal::unix::Signal)| async {
            let received = tokio::select! {
                received = terminate.recv() => received.map(|()| StopSignal::Terminate),
                received = interrupt.recv() => received.map(|()| StopSignal::Interrupt),
            };
            received.map(|signal| (signal, (terminate, interrupt)))
        };
    Ok(Box::pin(stream::unfold((terminate, interrupt), next)))
}
