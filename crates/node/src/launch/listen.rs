//! Messages out of bytes, within bounds.

use std::time::Duration;

use tokio::time::Instant;

use crate::task::Message;

/// Most bytes of a line. A score with all features has a few thousand.
const LINE: usize = 256 * 1024;

/// Bytes that may come at once, and per second ever after. A worker needs a few hundred.
const AT_ONCE: u64 = 1024 * 1024;
const PER_SECOND: u64 = 16 * 1024;

/// Why a worker is not listened to any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Nonsense {
    #[error("wrote a line of more than {LINE} bytes")]
    Line,
    #[error("wrote far more than a worker has to say")]
    Flood,
    #[error("wrote something that is no message: {0}")]
    Garbage(String),
}

/// How much a worker may write.
#[derive(Debug)]
pub(super) struct Allowance {
    since: Instant,
    used: u64,
}

impl Allowance {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, used: 0 }
    }

    /// Takes so many bytes.
    pub(super) fn take(&mut self, now: Instant, bytes: usize) -> Result<(), Nonsense> {
        self.used = self.used.saturating_add(bytes as u64);
        let elapsed: Duration = now.saturating_duration_since(self.since);
        let granted = AT_ONCE.saturating_add(PER_SECOND.saturating_mul(elapsed.as_secs()));
        if self.used > granted { Err(Nonsense::Flood) } else { Ok(()) }
    }
}

/// Puts lines together.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pending: Vec<u8>,
}

impl Lines {
    /// The messages that are complete with these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Message>, Nonsense> {
        let mut messages = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.pending.len() + part.len() > LINE {
                return Err(Nonsense::Line);
            }
            self.pending.extend_from_slice(part);
            if part.ends_with(b"\n") {
                messages.push(message(&self.pending)?);
                self.pending.clear();
            }
        }
        Ok(messages)
    }
}

fn message(line: &[u8]) -> Result<Message, Nonsense> {
    serde_json::from_slice(line).map_err(|_| {
        let start: String = String::from_utf8_lossy(line).trim_end().chars().take(80).collect();
        Nonsense::Garbage(format!("{start:?}"))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const PROGRESS: &str = "{\"progress\":{\"done\":1,\"total\":9}}\n";

    #[test]
    fn messages_arrive_in_any_pieces() {
        let text = PROGRESS.repeat(3);
        for size in [1, 7, 1000] {
            let mut lines = Lines::default();
            let messages: Vec<_> =
                text.as_bytes().chunks(size).flat_map(|bytes| lines.push(bytes).unwrap()).collect();
            assert_eq!(messages, vec![Message::Progress { done: 1, total: 9 }; 3]);
        }
    }

    #[rstest]
    #[case::no_json("hello\n", "\"hello\"")]
    #[case::other_json("{\"x\":1}\n", "\"{\\\"x\\\":1}\"")]
    #[case::empty("\n", "\"\"")]
    fn what_is_no_message_is_quoted(#[case] line: &str, #[case] quoted: &str) {
        assert_eq!(Lines::default().push(line.as_bytes()), Err(Nonsense::Garbage(quoted.to_owned())));
    }

    #[test]
    fn a_line_has_an_end() {
        let mut lines = Lines::default();
        let bytes = vec![b'x'; LINE];
        assert_eq!(lines.push(&bytes), Ok(Vec::new()));
        assert_eq!(lines.push(b"x"), Err(Nonsense::Line));
    }

    #[test]
    fn much_at_once_is_allowed_and_more_as_time_goes_by() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        assert_eq!(allowance.take(start, 1024 * 1024), Ok(()));
        assert_eq!(allowance.take(start + Duration::from_secs(2), 2 * 16 * 1024), Ok(()));
        assert_eq!(allowance.take(start + Duration::from_secs(2), 1), Err(Nonsense::Flood));
    }
}
