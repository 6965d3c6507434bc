//! Writes the worker's messages: one JSON object per line.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use vmafx_scoring::score::ProgressObserver;

use crate::task::WorkerMessage;

/// Minimum interval between two progress messages. People cannot see more, and a controller should get far less.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// A write error is remembered and stops nothing: a worker is killed when its agent is gone.
#[derive(Debug)]
pub(super) struct MessageWriter<W> {
    state: Mutex<State<W>>,
    connected: AtomicBool,
}

#[derive(Debug)]
struct State<W> {
    out: W,
    last_progress_at: Option<Instant>,
    pending_progress: Option<(u64, u64)>,
}

impl<W: Write + Send> MessageWriter<W> {
    pub(super) fn new(out: W) -> Self {
        let state = State { out, last_progress_at: None, pending_progress: None };
        Self { state: Mutex::new(state), connected: AtomicBool::new(true) }
    }

    pub(super) fn send(&self, message: &WorkerMessage) {
        self.write(&mut self.lock(), message);
    }

    /// Whether every message so far could be written.
    pub(super) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    /// Sends the progress that was held back, if any.
    pub(super) fn flush_progress(&self) {
        let mut state = self.lock();
        if let Some((done, total)) = state.pending_progress.take() {
            self.write(&mut state, &WorkerMessage::Progress { done, total });
        }
    }

    fn progress_at(&self, now: Instant, done: u64, total: u64) {
        let mut state = self.lock();
        let last = state.last_progress_at;
        if last.is_some_and(|last| now.saturating_duration_since(last) < PROGRESS_INTERVAL) {
            state.pending_progress = Some((done, total));
            return;
        }
        state.last_progress_at = Some(now);
        state.pending_progress = None;
        self.write(&mut state, &WorkerMessage::Progress { done, total });
    }

    fn write(&self, state: &mut State<W>, message: &WorkerMessage) {
        let written = serde_json::to_vec(message).map_err(Into::into).and_then(|mut line| {
            line.push(b'\n');
            state.out.write_all(&line)?;
            state.out.flush()
        });
        if written.is_err() {
            self.connected.store(false, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write + Send> ProgressObserver for MessageWriter<W> {
    fn frames(&self, done: u64, total: Option<u64>) {
        self.progress_at(Instant::now(), done, total.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::ConfinementReport;

    fn lines(writer: &MessageWriter<Vec<u8>>) -> Vec<String> {
        String::from_utf8(writer.lock().out.clone()).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn progress_is_sent_a_few_times_a_second_and_the_last_of_it_always() {
        let writer = MessageWriter::new(Vec::new());
        let start = Instant::now();
        for frame in 0..=100_u64 {
            writer.progress_at(start + Duration::from_millis(frame * 10), frame, 100);
        }
        assert_eq!(lines(&writer).len(), 5, "at 0, 250, 500, 750 and 1000 ms");
        writer.progress_at(start + Duration::from_millis(1001), 101, 100);
        writer.flush_progress();
        writer.flush_progress();
        let lines = lines(&writer);
        assert_eq!(lines.len(), 6);
        assert_eq!(lines[5], r#"{"progress":{"done":101,"total":100}}"#);
    }

    #[test]
    fn a_reader_that_is_gone_is_noticed() {
        struct ClosedPipe;
        impl Write for ClosedPipe {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let writer = MessageWriter::new(ClosedPipe);
        assert!(writer.is_connected());
        writer.send(&WorkerMessage::Confined(ConfinementReport::default()));
        assert!(!writer.is_connected());
    }
}
