use std::time::Duration;

/// A token of 16 KiB and the rest. Every connection may hold this much before anybody knows whose it is.
pub(super) const DEFAULT_HEADER_BYTES: usize = 32 * 1024;

/// The protocol of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerProtocol {
    /// The server itself times what its clients send.
    Http1,
    /// Only connections whose client has sent the preface of HTTP/2 are passed on.
    Http2,
}

/// Limits on the connections of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    pub protocol: ListenerProtocol,
    pub connections: usize,
    pub per_peer: usize,
    /// Connections that have made no authorized call; the oldest is closed for a new one. `None`: no limit of their own.
    pub unauthenticated: Option<usize>,
    /// Timeout from the start of a connection to the end of its TLS handshake and preface.
    pub opening: Option<Duration>,
}

impl ConnectionLimits {
    /// The defaults of a gRPC listener.
    pub fn http2() -> Self {
        Self {
            protocol: ListenerProtocol::Http2,
            connections: 8192,
            per_peer: 1024,
            unauthenticated: Some(2048),
            opening: Some(Duration::from_secs(5)),
        }
    }

    pub(super) fn http1(limits: &HttpLimits) -> Self {
        Self {
            protocol: ListenerProtocol::Http1,
            connections: limits.connections,
            per_peer: limits.connections_per_peer,
            unauthenticated: limits.connections_unauthenticated,
            opening: None,
        }
    }
}

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
    pub connections_per_peer: usize,
    /// Connections without an authorized request; the oldest is closed for a new one. `None`: no limit of their own.
    pub connections_unauthenticated: Option<usize>,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            read: Some(Duration::from_secs(30)),
            header: Some(Duration::from_secs(5)),
            write: Some(Duration::from_mins(1)),
            idle: Some(Duration::from_mins(2)),
            header_bytes: DEFAULT_HEADER_BYTES,
            connections: 4096,
            connections_per_peer: 1024,
            connections_unauthenticated: None,
        }
    }
}
