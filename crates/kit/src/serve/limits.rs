//! How long, how large, how many.

use std::time::Duration;

/// What a client of an HTTP listener may take of us. `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// From the end of a request's head to the end of its body.
    pub read: Option<Duration>,
    /// From the first byte of a request to the end of its head; of a new connection, from its begin.
    pub header: Option<Duration>,
    /// How long a client may take nothing of an answer that is ready for it.
    pub write: Option<Duration>,
    /// From the end of an answer to the next request.
    pub idle: Option<Duration>,
    /// Bytes of a request's head.
    pub header_bytes: usize,
    /// Connections at a time.
    pub connections: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            read: Some(Duration::from_secs(30)),
            header: Some(Duration::from_secs(5)),
            write: Some(Duration::from_mins(1)),
            idle: Some(Duration::from_mins(2)),
            header_bytes: 1024 * 1024,
            connections: 4096,
        }
    }
}
