//! Faults, and the requests that they apply to.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::request::{ApiRequest, RbacVerb};
use super::request_log::RecordedRequest;
use crate::wait::{self, TimedOut};

/// The requests that a fault applies to; by default all that match.
#[derive(Clone)]
pub struct RequestMatcher {
    matches: Arc<dyn Fn(&ApiRequest) -> bool + Send + Sync>,
    occurrence: Occurrence,
}

#[derive(Clone, Copy)]
enum Occurrence {
    Every,
    Nth(usize),
    OncePerPath,
}

impl fmt::Debug for RequestMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestMatcher").finish_non_exhaustive()
    }
}

impl RequestMatcher {
    pub fn matching(matches: impl Fn(&ApiRequest) -> bool + Send + Sync + 'static) -> Self {
        Self { matches: Arc::new(matches), occurrence: Occurrence::Every }
    }

    pub fn writes() -> Self {
        Self::matching(ApiRequest::is_write)
    }

    pub fn watches() -> Self {
        Self::matching(|request| request.verb == RbacVerb::Watch)
    }

    /// Only requests that also match `also`.
    #[must_use]
    pub fn and(self, also: impl Fn(&ApiRequest) -> bool + Send + Sync + 'static) -> Self {
        let matches = self.matches;
        Self { matches: Arc::new(move |request| matches(request) && also(request)), ..self }
    }

    /// Only requests for this resource, not for its subresources.
    #[must_use]
    pub fn of(self, resource: &'static str) -> Self {
        self.and(move |request| request.resource == resource && request.subresource.is_empty())
    }

    /// Only the n-th matching request from now, starting at 1.
    #[must_use]
    pub fn nth(self, n: usize) -> Self {
        Self { occurrence: Occurrence::Nth(n), ..self }
    }

    /// Only the first request with each method and path.
    #[must_use]
    pub fn once_per_path(self) -> Self {
        Self { occurrence: Occurrence::OncePerPath, ..self }
    }
}

/// What the proxy does after a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseHandling {
    Forward,
    /// The connection is closed without a response.
    Disconnect,
}

type Callback = Arc<dyn Fn(&RecordedRequest) -> ResponseHandling + Send + Sync>;

/// What the proxy does to a request.
#[derive(Clone)]
pub enum Fault {
    /// Responds with this status, without asking the API server.
    Respond(u16),
    /// Forwards the request, but responds with this status.
    FailAfter(u16),
    /// Neither forwards the request nor responds.
    NoResponse,
    /// Forwards the request, but does not respond.
    NoResponseAfter,
    /// Closes the connection without forwarding the request.
    DisconnectBefore,
    /// Forwards the request, then closes the connection.
    DisconnectAfter,
    /// Holds the request until it is released.
    Hold,
    /// Calls back before the request is forwarded; see [`Fault::before`].
    #[doc(hidden)]
    Before(Callback),
    /// Calls back when the API server has responded; see [`Fault::after`].
    #[doc(hidden)]
    After(Callback),
}

impl Fault {
    /// Calls back before the request is forwarded, which [`ResponseHandling::Disconnect`] prevents.
    pub fn before(call: impl Fn(&RecordedRequest) -> ResponseHandling + Send + Sync + 'static) -> Self {
        Self::Before(Arc::new(call))
    }

    /// Calls back when the API server has responded and the client has not received the response yet.
    pub fn after(call: impl Fn(&RecordedRequest) -> ResponseHandling + Send + Sync + 'static) -> Self {
        Self::After(Arc::new(call))
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Respond(code) => write!(f, "Respond({code})"),
            Self::FailAfter(code) => write!(f, "FailAfter({code})"),
            Self::NoResponse => f.write_str("NoResponse"),
            Self::NoResponseAfter => f.write_str("NoResponseAfter"),
            Self::DisconnectBefore => f.write_str("DisconnectBefore"),
            Self::DisconnectAfter => f.write_str("DisconnectAfter"),
            Self::Hold => f.write_str("Hold"),
            Self::Before(_) => f.write_str("Before"),
            Self::After(_) => f.write_str("After"),
        }
    }
}

/// An active fault.
#[derive(Debug)]
pub(super) struct FaultRule {
    requests: RequestMatcher,
    fault: Fault,
    history: Mutex<MatchHistory>,
    released: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct MatchHistory {
    matched: usize,
    paths: HashSet<String>,
    hits: Vec<ApiRequest>,
}

impl FaultRule {
    /// Counts the request, and returns whether the fault applies to it.
    fn applies_to(&self, request: &ApiRequest) -> bool {
        if !(self.requests.matches)(request) {
            return false;
        }
        let mut history = lock(&self.history);
        history.matched += 1;
        let applies = match self.requests.occurrence {
            Occurrence::Every => true,
            Occurrence::Nth(n) => history.matched == n,
            Occurrence::OncePerPath => history.paths.insert(format!("{} {}", request.method, request.path)),
        };
        if applies {
            history.hits.push(request.clone());
        }
        applies
    }

    pub(super) fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Returns when the fault is released or dropped.
    pub(super) async fn released(&self) {
        let _ = self.released.subscribe().wait_for(|released| *released).await;
    }
}

/// The active faults, in the order in which they were injected.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultRules(Arc<Mutex<Vec<Arc<FaultRule>>>>);

impl FaultRules {
    pub(super) fn add(&self, requests: RequestMatcher, fault: Fault) -> InjectedFault {
        let released = watch::Sender::new(false);
        let rule = Arc::new(FaultRule { requests, fault, history: Mutex::default(), released });
        lock(&self.0).push(Arc::clone(&rule));
        InjectedFault { rule, rules: self.clone() }
    }

    /// The first fault that applies to a request. Every matching fault counts the request, so all are evaluated.
    pub(super) fn applicable(&self, request: &ApiRequest) -> Option<Arc<FaultRule>> {
        let rules = lock(&self.0).clone();
        let applicable: Vec<_> = rules.into_iter().filter(|rule| rule.applies_to(request)).collect();
        applicable.into_iter().next()
    }
}

/// An active fault. Dropping it removes the fault and releases the requests that it holds.
#[derive(Debug)]
#[must_use = "dropping this removes the fault"]
pub struct InjectedFault {
    rule: Arc<FaultRule>,
    rules: FaultRules,
}

impl InjectedFault {
    /// The requests that the fault was applied to, in order.
    pub fn hits(&self) -> Vec<ApiRequest> {
        lock(&self.rule.history).hits.clone()
    }

    /// Waits for the first request that the fault is applied to.
    pub async fn wait_for_hit(&self, deadline: Duration) -> Result<ApiRequest, TimedOut> {
        wait::until(deadline, "a request that the fault applies to", async || self.hits().into_iter().next())
            .await
    }

    /// Releases the requests that the fault holds, and does not hold further ones.
    pub fn release(&self) {
        self.rule.released.send_replace(true);
    }
}

impl Drop for InjectedFault {
    fn drop(&mut self) {
        lock(&self.rules.0).retain(|rule| !Arc::ptr_eq(rule, &self.rule));
        self.release();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
