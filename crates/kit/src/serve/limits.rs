use std::time::Duration;

/// Limits on each client of an HTTP listener. `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Timeout from the end of a request's header to the end of its body.
    pub read: Option<Duration>,
    /// Timeout from the first byte of a request to the end of its header; on a new connection, from its start.
    pub header: Option<Duration>,
    /// How long a client may read nothing of a response that is ready for it.
    pub write: Option<Duration>,
    /// Timeout from the end of a response to the next request.
    pub idle: Option<Duration>,
    pub header_bytes: usize,
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
