//! What the worker says: one JSON object per line.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use vmafx_scoring::score::Progress;

use crate::task::Message;

/// Between two words on progress. People see no more, and a controller should hear far less.
const PACE: Duration = Duration::from_millis(250);

/// Writes messages. A writer that is gone ends nothing by itself: the worker dies with its agent.
#[derive(Debug)]
pub(super) struct Speaker<W> {
    state: Mutex<State<W>>,
    heard: AtomicBool,
}

#[derive(Debug)]
struct State<W> {
    out: W,
    said_at: Option<Instant>,
    unsaid: Option<(u64, u64)>,
}

impl<W: Write + Send> Speaker<W> {
    pub(super) fn new(out: W) -> Self {
        Self { state: Mutex::new(State { out, said_at: None, unsaid: None }), heard: AtomicBool::new(true) }
    }

    /// Says something, at once.
    pub(super) fn say(&self, message: &Message) {
        self.write(&mut self.lock(), message);
    }

    /// Whether everything could be written so far.
    pub(super) fn is_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    /// Says what was held back.
    pub(super) fn last_progress(&self) {
        let mut state = self.lock();
        if let Some((done, total)) = state.unsaid.take() {
            self.write(&mut state, &Message::Progress { done, total });
        }
    }

    fn progress_at(&self, now: Instant, done: u64, total: u64) {
        let mut state = self.lock();
        if state.said_at.is_some_and(|then| now.saturating_duration_since(then) < PACE) {
            state.unsaid = Some((done, total));
            return;
        }
        state.said_at = Some(now);
        state.unsaid = None;
        self.write(&mut state, &Message::Progress { done, total });
    }

    fn write(&self, state: &mut State<W>, message: &Message) {
        let written = serde_json::to_vec(message).map_err(Into::into).and_then(|mut line| {
            line.push(b'\n');
            state.out.write_all(&line)?;
            state.out.flush()
        });
        if written.is_err() {
            self.heard.store(false, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write + Send> Progress for Speaker<W> {
    fn frames(&self, done: u64, total: Option<u64>) {
        self.progress_at(Instant::now(), done, total.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(speaker: &Speaker<Vec<u8>>) -> Vec<String> {
        String::from_utf8(speaker.lock().out.clone()).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn progress_is_said_a_few_times_a_second_and_the_last_of_it_always() {
        let speaker = Speaker::new(Vec::new());
        let start = Instant::now();
        for frame in 0..=100_u64 {
            speaker.progress_at(start + Duration::from_millis(frame * 10), frame, 100);
        }
        assert_eq!(lines(&speaker).len(), 5, "at 0, 250, 500, 750 and 1000 ms");
        speaker.progress_at(start + Duration::from_millis(1001), 101, 100);
        speaker.last_progress();
        speaker.last_progress();
        let lines = lines(&speaker);
        assert_eq!(lines.len(), 6);
        assert_eq!(lines[5], r#"{"progress":{"done":101,"total":100}}"#);
    }

    #[test]
    fn a_listener_that_is_gone_is_noticed() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let speaker = Speaker::new(Gone);
        assert!(speaker.is_heard());
        speaker.say(&Message::Confined(Vec::new()));
        assert!(!speaker.is_heard());
    }
}
