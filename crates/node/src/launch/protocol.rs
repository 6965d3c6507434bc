//! Parses the messages of a worker, within limits.

use std::time::Duration;

use tokio::time::Instant;

use crate::task::WorkerMessage;

/// A result with all features has a few thousand bytes.
const MAX_LINE_BYTES: usize = 256 * 1024;

/// Bytes that a worker may write at once, and in each second. It needs a few hundred.
const BURST_BYTES: u64 = 1024 * 1024;
const BYTES_PER_SECOND: u64 = 16 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProtocolError {
    #[error("wrote a line of more than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
    #[error("wrote more output than a worker may")]
    TooMuchOutput,
    #[error("wrote a line that is not a message: {0}")]
    NotAMessage(String),
}

/// Rate limit of a worker's output.
#[derive(Debug)]
pub(super) struct OutputBudget {
    since: Instant,
    used: u64,
}

impl OutputBudget {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, used: 0 }
    }

    pub(super) fn consume(&mut self, now: Instant, bytes: usize) -> Result<(), ProtocolError> {
        self.used = self.used.saturating_add(bytes as u64);
        let elapsed: Duration = now.saturating_duration_since(self.since);
        let granted = BURST_BYTES.saturating_add(BYTES_PER_SECOND.saturating_mul(elapsed.as_secs()));
        if self.used > granted { Err(ProtocolError::TooMuchOutput) } else { Ok(()) }
    }
}

#[derive(Debug, Default)]
pub(super) struct MessageParser {
    pending: Vec<u8>,
}

impl MessageParser {
    /// The messages that are complete with these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<WorkerMessage>, ProtocolError> {
        let mut messages = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.pending.len() + part.len() > MAX_LINE_BYTES {
                return Err(ProtocolError::LineTooLong);
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

fn message(line: &[u8]) -> Result<WorkerMessage, ProtocolError> {
    serde_json::from_slice(line).map_err(|_| {
        let start: String = String::from_utf8_lossy(line).trim_end().chars().take(80).collect();
        ProtocolError::NotAMessage(format!("{start:?}"))
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
            let mut parser = MessageParser::default();
            let messages: Vec<_> =
                text.as_bytes().chunks(size).flat_map(|bytes| parser.push(bytes).unwrap()).collect();
            assert_eq!(messages, vec![WorkerMessage::Progress { done: 1, total: 9 }; 3]);
        }
    }

    #[rstest]
    #[case::no_json("hello\n", "\"hello\"")]
    #[case::other_json("{\"x\":1}\n", "\"{\\\"x\\\":1}\"")]
    #[case::empty("\n", "\"\"")]
    fn a_line_that_is_not_a_message_is_quoted(#[case] line: &str, #[case] quoted: &str) {
        assert_eq!(
            MessageParser::default().push(line.as_bytes()),
            Err(ProtocolError::NotAMessage(quoted.to_owned()))
        );
    }

    #[test]
    fn a_line_has_a_maximum_length() {
        let mut parser = MessageParser::default();
        let bytes = vec![b'x'; MAX_LINE_BYTES];
        assert_eq!(parser.push(&bytes), Ok(Vec::new()));
        assert_eq!(parser.push(b"x"), Err(ProtocolError::LineTooLong));
    }

    #[test]
    fn a_burst_is_allowed_and_more_as_time_goes_by() {
        let start = Instant::now();
        let mut budget = OutputBudget::new(start);
        assert_eq!(budget.consume(start, 1024 * 1024), Ok(()));
        assert_eq!(budget.consume(start + Duration::from_secs(2), 2 * 16 * 1024), Ok(()));
        assert_eq!(budget.consume(start + Duration::from_secs(2), 1), Err(ProtocolError::TooMuchOutput));
    }
}
