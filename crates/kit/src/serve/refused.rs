//! The limits of listeners by name, and how often each was reached.

use tonic::{Code, Status};

use crate::metrics::{CounterBy, LabelSet, Metrics};

crate::closed_label! {
    /// A limit that ended or refused a connection or call.
    pub enum ListenerLimit: "limit" {
        ConnectionsPerPeer = "connections_per_peer",
        ConnectionsUnauthenticated = "connections_unauthenticated",
        OpeningTimeout = "opening_timeout",
        CallsPerPeer = "calls_per_peer",
        CallsUnauthenticated = "calls_unauthenticated",
        MessageBytesPerPeer = "message_bytes_per_peer",
        MessageBytes = "message_bytes",
        MessageSize = "message_size",
        MessageTimeout = "message_timeout",
        CallTimeout = "call_timeout",
    }
}

impl ListenerLimit {
    /// The status of a call that this limit refused or ended. The text names the setting.
    pub(super) fn status(self, bound: &str) -> Status {
        let (code, text) = match self {
            Self::CallsPerPeer => (
                Code::ResourceExhausted,
                format!(
                    "VMAFX_GRPC_MAX_CALLS_PER_PEER: this address has {bound} open calls; try again later"
                ),
            ),
            Self::CallsUnauthenticated => (
                Code::ResourceExhausted,
                format!(
                    "VMAFX_GRPC_MAX_CALLS_UNAUTHENTICATED: {bound} calls of unknown clients are open; try again later"
                ),
            ),
            Self::MessageBytesPerPeer => (
                Code::ResourceExhausted,
                format!(
                    "VMAFX_GRPC_MAX_MESSAGE_BYTES_PER_PEER: this address has sent {bound} bytes of unfinished messages"
                ),
            ),
            Self::MessageBytes => (
                Code::ResourceExhausted,
                format!(
                    "VMAFX_GRPC_MAX_MESSAGE_BYTES: clients have sent {bound} bytes of unfinished messages; try again later"
                ),
            ),
            // The code that tonic has for this; clients know from it that the same message is refused again.
            Self::MessageSize => (
                Code::OutOfRange,
                format!(
                    "the message is too large: this method takes at most {bound} bytes (VMAFX_GRPC_MAX_RECV_SIZE)"
                ),
            ),
            Self::MessageTimeout => (
                Code::DeadlineExceeded,
                format!("VMAFX_GRPC_TIMEOUTS_MESSAGE: the message did not arrive within {bound}"),
            ),
            Self::CallTimeout => (
                Code::DeadlineExceeded,
                format!("VMAFX_GRPC_TIMEOUTS_CALL: the call was not answered within {bound}"),
            ),
            Self::ConnectionsPerPeer | Self::ConnectionsUnauthenticated | Self::OpeningTimeout => {
                (Code::Unavailable, "the connection is closed".to_owned())
            }
        };
        Status::new(code, text)
    }
}

/// How often each limit was reached. Clones share the counters.
#[derive(Clone, Debug, Default)]
pub struct LimitMetrics(CounterBy<(ListenerLimit,)>);

impl LimitMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        let help = "Connections and calls that a limit of a listener refused or ended";
        Self(metrics.counter_by("listener_limits_reached", help))
    }

    pub(super) fn count(&self, limit: ListenerLimit) {
        self.0.get_or_create(&LabelSet((limit,))).inc();
    }
}
