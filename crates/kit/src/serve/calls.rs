//! Limits on the calls of a gRPC listener: how many are open, how large and how slow their messages are.
//!
//! Only the bytes of unfinished messages count against the budgets. A message that arrives in one piece is never charged, so
//! the small calls of everybody go on while somebody has used up a budget.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tonic::Status;

use super::peers::{PeerConnection, take};
use super::refused::{LimitMetrics, ListenerLimit};
use super::unauthenticated::ConnectionAuthentication;

/// How many messages a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestMessages {
    /// The whole request must arrive within the message timeout.
    One,
    /// Each message must arrive within the timeout, the first one counted from the headers.
    Many,
}

/// Limits on one call, by its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    pub max_message_bytes: usize,
    pub messages: RequestMessages,
    /// Maximum time until the response begins. A client's own deadline counts if it is earlier.
    pub max_time: Option<Duration>,
    /// Whether callers without a token are served.
    pub unauthenticated: bool,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            max_message_bytes: 4 * 1024 * 1024,
            messages: RequestMessages::Many,
            max_time: None,
            unauthenticated: false,
        }
    }
}

/// Limits on all calls of a listener.
#[derive(Clone)]
pub struct GrpcLimits {
    pub calls_per_peer: usize,
    /// Calls of methods that need no token; and as many while the first call of their connection is being authorized.
    pub calls_unauthenticated: usize,
    /// Bytes of unfinished messages of one peer.
    pub message_bytes_per_peer: usize,
    /// Bytes of unfinished messages of all peers.
    pub message_bytes: usize,
    pub message_timeout: Duration,
    /// The limits of each method, by its path.
    pub methods: Arc<dyn Fn(&str) -> CallLimits + Send + Sync>,
    pub metrics: LimitMetrics,
}

impl Default for GrpcLimits {
    fn default() -> Self {
        Self {
            calls_per_peer: 2048,
            calls_unauthenticated: 1024,
            message_bytes_per_peer: 16 * 1024 * 1024,
            message_bytes: 64 * 1024 * 1024,
            message_timeout: Duration::from_secs(10),
            methods: Arc::new(|_| CallLimits::default()),
            metrics: LimitMetrics::default(),
        }
    }
}

impl fmt::Debug for GrpcLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcLimits")
            .field("calls_per_peer", &self.calls_per_peer)
            .field("message_bytes_per_peer", &self.message_bytes_per_peer)
            .field("message_bytes", &self.message_bytes)
            .finish_non_exhaustive()
    }
}

/// What the calls of a listener use.
#[derive(Debug)]
pub(super) struct CallAdmission {
    pub(super) limits: GrpcLimits,
    unauthenticated: AtomicUsize,
    /// Calls on connections without an authorized call, while it is checked who makes them.
    unauthorized: AtomicUsize,
    message_bytes: AtomicUsize,
}

impl CallAdmission {
    pub(super) fn new(limits: GrpcLimits) -> Self {
        let zero = AtomicUsize::default;
        Self { limits, unauthenticated: zero(), unauthorized: zero(), message_bytes: zero() }
    }

    /// Counts a call until the result is dropped, or refuses it. `known`: the connection has had an authorized call.
    pub(super) fn open(
        self: &Arc<Self>,
        peer: &Arc<PeerConnection>,
        call: CallLimits,
        known: bool,
    ) -> Result<Arc<OpenCall>, Status> {
        let limits = &self.limits;
        if !take(peer.calls(), 1, limits.calls_per_peer) {
            return Err(self.refused(ListenerLimit::CallsPerPeer, limits.calls_per_peer));
        }
        // From here on the drop of the call gives back what was taken.
        let mut open = OpenCall {
            admission: Arc::clone(self),
            peer: Arc::clone(peer),
            limits: call,
            unauthenticated: false,
            unauthorized: AtomicBool::new(false),
        };
        let max = limits.calls_unauthenticated;
        let taken = match (call.unauthenticated, known) {
            (true, _) => {
                open.unauthenticated = take(&self.unauthenticated, 1, max);
                open.unauthenticated
            }
            (false, true) => true,
            (false, false) => {
                let taken = take(&self.unauthorized, 1, max);
                *open.unauthorized.get_mut() = taken;
                taken
            }
        };
        if taken { Ok(Arc::new(open)) } else { Err(self.refused(ListenerLimit::CallsUnauthenticated, max)) }
    }

    pub(super) fn refused(&self, limit: ListenerLimit, bound: usize) -> Status {
        self.limits.metrics.count(limit);
        limit.status(&bound.to_string())
    }

    pub(super) fn timed_out(&self, limit: ListenerLimit, bound: Duration) -> Status {
        self.limits.metrics.count(limit);
        limit.status(&format!("{bound:?}"))
    }
}

/// A call that its request body and its response share.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) admission: Arc<CallAdmission>,
    peer: Arc<PeerConnection>,
    pub(super) limits: CallLimits,
    unauthenticated: bool,
    unauthorized: AtomicBool,
}

impl OpenCall {
    fn authorized(&self) {
        if self.unauthorized.swap(false, Ordering::Relaxed) {
            self.admission.unauthorized.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.authorized();
        self.peer.calls().fetch_sub(1, Ordering::Relaxed);
        if self.unauthenticated {
            self.admission.unauthenticated.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Among the extensions of every request: tells the listener that the request is authorized.
#[derive(Clone, Debug)]
pub struct RequestAuthorization {
    pub(super) connection: Option<ConnectionAuthentication>,
    pub(super) call: Option<Arc<OpenCall>>,
}

impl RequestAuthorization {
    /// Keeps the connection from now on, and no longer counts the call among those of strangers.
    pub fn authorized(&self) {
        if let Some(connection) = &self.connection {
            connection.authorized();
        }
        if let Some(call) = &self.call {
            call.authorized();
        }
    }
}

/// The bytes of the unfinished message of one call, until it is dropped.
#[derive(Debug)]
pub(super) struct MessageCharge {
    pub(super) call: Arc<OpenCall>,
    bytes: usize,
}

impl MessageCharge {
    pub(super) fn new(call: Arc<OpenCall>) -> Self {
        Self { call, bytes: 0 }
    }

    /// Changes the charge to `bytes`, or refuses and leaves it.
    pub(super) fn set(&mut self, bytes: usize) -> Result<(), Status> {
        let (admission, peer) = (&self.call.admission, &self.call.peer);
        if let Some(more) = bytes.checked_sub(self.bytes) {
            if more == 0 {
                return Ok(());
            }
            let limits = &admission.limits;
            if !take(peer.message_bytes(), more, limits.message_bytes_per_peer) {
                let limit = ListenerLimit::MessageBytesPerPeer;
                return Err(admission.refused(limit, limits.message_bytes_per_peer));
            }
            if !take(&admission.message_bytes, more, limits.message_bytes) {
                peer.message_bytes().fetch_sub(more, Ordering::Relaxed);
                return Err(admission.refused(ListenerLimit::MessageBytes, limits.message_bytes));
            }
        } else {
            let less = self.bytes - bytes;
            peer.message_bytes().fetch_sub(less, Ordering::Relaxed);
            admission.message_bytes.fetch_sub(less, Ordering::Relaxed);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for MessageCharge {
    fn drop(&mut self) {
        // Giving bytes back is never refused.
        let _ = self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::super::peers::PeerTable;
    use super::*;

    fn peer(table: &Arc<PeerTable>, address: &str) -> Arc<PeerConnection> {
        Arc::new(table.connect(address.parse().unwrap(), 9).unwrap())
    }

    fn refusal<T: fmt::Debug>(result: Result<T, Status>) -> (Code, String) {
        let status = result.unwrap_err();
        let name = status.message().split(':').next().unwrap_or_default().to_owned();
        (status.code(), name)
    }

    #[test]
    fn a_peer_with_too_many_calls_is_refused_and_others_are_not() {
        let table = Arc::new(PeerTable::default());
        let admission =
            Arc::new(CallAdmission::new(GrpcLimits { calls_per_peer: 2, ..GrpcLimits::default() }));
        let (busy, again) = (peer(&table, "10.0.0.1"), peer(&table, "10.0.0.1"));
        let open = |peer: &Arc<PeerConnection>| admission.open(peer, CallLimits::default(), true);
        let calls = (open(&busy).unwrap(), open(&again).unwrap());
        let expected = (Code::ResourceExhausted, "VMAFX_GRPC_MAX_CALLS_PER_PEER".to_owned());
        assert_eq!(refusal(open(&again)), expected);
        open(&peer(&table, "10.0.0.2")).unwrap();
        drop(calls.0);
        open(&again).unwrap();
    }

    #[test]
    fn calls_without_a_token_have_a_limit_of_their_own() {
        let table = Arc::new(PeerTable::default());
        let limits = GrpcLimits { calls_unauthenticated: 1, ..GrpcLimits::default() };
        let admission = Arc::new(CallAdmission::new(limits));
        let peer = peer(&table, "10.0.0.1");
        let health = CallLimits { unauthenticated: true, ..CallLimits::default() };
        let first = admission.open(&peer, health, false).unwrap();
        let expected = (Code::ResourceExhausted, "VMAFX_GRPC_MAX_CALLS_UNAUTHENTICATED".to_owned());
        assert_eq!(refusal(admission.open(&peer, health, false)), expected);
        admission.open(&peer, CallLimits::default(), false).unwrap();
        drop(first);
        admission.open(&peer, health, false).unwrap();
        assert_eq!(peer.calls().load(Ordering::Relaxed), 0);
    }

    #[test]
    fn calls_of_strangers_have_a_limit_until_they_are_authorized() {
        let table = Arc::new(PeerTable::default());
        let limits = GrpcLimits { calls_unauthenticated: 1, ..GrpcLimits::default() };
        let admission = Arc::new(CallAdmission::new(limits));
        let peer = peer(&table, "10.0.0.1");
        let open = |known| admission.open(&peer, CallLimits::default(), known);
        let first = open(false).unwrap();
        let expected = (Code::ResourceExhausted, "VMAFX_GRPC_MAX_CALLS_UNAUTHENTICATED".to_owned());
        assert_eq!(refusal(open(false)), expected);
        open(true).unwrap();
        RequestAuthorization { connection: None, call: Some(first.clone()) }.authorized();
        let second = open(false).unwrap();
        drop((first, second));
        assert_eq!(admission.unauthorized.load(Ordering::Relaxed), 0);
        assert_eq!(peer.calls().load(Ordering::Relaxed), 0);
    }

    #[test]
    fn unfinished_bytes_count_for_the_peer_and_for_all_and_are_given_back() {
        let table = Arc::new(PeerTable::default());
        let limits = GrpcLimits { message_bytes_per_peer: 10, message_bytes: 15, ..GrpcLimits::default() };
        let admission = Arc::new(CallAdmission::new(limits));
        let charge = |address: &str| {
            MessageCharge::new(admission.open(&peer(&table, address), CallLimits::default(), true).unwrap())
        };
        let (mut first, mut second) = (charge("10.0.0.1"), charge("10.0.0.2"));
        first.set(10).unwrap();
        let expected = (Code::ResourceExhausted, "VMAFX_GRPC_MAX_MESSAGE_BYTES_PER_PEER".to_owned());
        assert_eq!(refusal(first.set(11)), expected);
        let expected = (Code::ResourceExhausted, "VMAFX_GRPC_MAX_MESSAGE_BYTES".to_owned());
        assert_eq!(refusal(second.set(6)), expected);
        second.set(5).unwrap();
        first.set(0).unwrap();
        second.set(10).unwrap();
        drop((first, second));
        assert_eq!(admission.message_bytes.load(Ordering::Relaxed), 0);
    }
}
