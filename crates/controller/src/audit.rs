//! The audit log: one line for each call that changes jobs or nodes, and for each refused attempt of one.
//!
//! The layers of both protocols write the lines, so that no handler can forget its own. Which calls have a line is a
//! column of the role table ([`CallEffect`]). The authorization adds who calls, and the handler which job or node it is
//! about, because only the decoded request names it.
//!
//! | the call                                    | its line                                                          |
//! |---------------------------------------------|-------------------------------------------------------------------|
//! | is finished                                 | `result` is `ok`, or the status code; `reason` if it has one       |
//! | ends with its connection or its deadline    | `result` is `cancelled`; it may or may not have had an effect      |
//! | is a pull or a heartbeat                    | at level debug: every node makes them all the time                 |
//! | comes from a caller without a valid token   | at most 10 a second, and the next one has the number of the others |
//! | is refused for a limit of the listener      | none: nothing was done for it                                      |
//!
//! Lines have the target `vmafx::audit`: `VMAFX_LOG_LEVEL=info,vmafx::audit=off` removes them.
//!
//! **A caller cannot forge a line or put a secret into one.** Jobs and sessions are written as parsed UUIDs. Every other
//! text is cut and has no control characters. Tokens, addresses of clips and messages of errors are not written.

mod grpc;
mod http;
mod text;
mod unidentified;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::http::{Extensions, HeaderMap};
use axum::extract::ConnectInfo;
use tonic::Code;
use tracing::Level;
use vmafx_proto::NAMESPACE_HEADER;
use vmafx_proto::refusal::RefusalReason;
use vmafx_queue::ids::SessionId;
use vmafx_queue::{JobId, TenantId};

pub use self::grpc::GrpcAuditLayer;
pub use self::http::audit_http;
use self::text::printable;
use self::unidentified::UnidentifiedCalls;
use crate::auth::permissions::CallEffect;
use crate::grpc::code_name;
use crate::identity::{Identity, Role, Roles};

/// The target of the lines.
pub const TARGET: &str = "vmafx::audit";

/// The audit log of a process. Clones share the limit of lines about callers without a valid token.
#[derive(Clone, Debug, Default)]
pub struct AuditLog(Arc<UnidentifiedCalls>);

/// Among the extensions of a request whose call has a line: what is learned about it while it is served. Without a line,
/// nothing is kept.
#[derive(Clone, Debug, Default)]
pub struct AuditedCall(Option<Arc<Mutex<CallFacts>>>);

#[derive(Clone, Debug, Default)]
struct CallFacts {
    caller: Option<AuditedCaller>,
    job: Option<JobId>,
    node: Option<String>,
    session: Option<SessionId>,
}

/// Whose token it is, also if the call is refused because of the tenant or the namespace.
#[derive(Clone, Debug)]
pub(crate) struct AuditedCaller {
    pub(crate) subject: String,
    /// `None` if the caller belongs to no tenant that is in force.
    pub(crate) tenant: Option<TenantId>,
    pub(crate) roles: Roles,
}

impl From<&Identity> for AuditedCaller {
    fn from(identity: &Identity) -> Self {
        let Identity { tenant, subject, roles, .. } = identity.clone();
        Self { subject, tenant: Some(tenant), roles }
    }
}

impl AuditedCall {
    fn begin() -> Self {
        Self(Some(Arc::default()))
    }

    /// The call of a request.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_default()
    }

    pub(crate) fn caller(&self, caller: AuditedCaller) {
        self.learn(|facts| facts.caller = Some(caller));
    }

    pub(crate) fn job(&self, job: JobId) {
        self.learn(|facts| facts.job = Some(job));
    }

    /// The job that a request names. Text that is not an id is not written: it may be anything, also a secret.
    pub(crate) fn named_job(&self, id: &str) {
        self.learn(|facts| facts.job = id.parse().ok());
    }

    pub(crate) fn node(&self, name: &str) {
        self.learn(|facts| facts.node = Some(printable(name)));
    }

    pub(crate) fn session(&self, session: SessionId) {
        self.learn(|facts| facts.session = Some(session));
    }

    /// The session that a request names.
    pub(crate) fn named_session(&self, id: &str) {
        self.learn(|facts| facts.session = id.parse().ok());
    }

    fn learn(&self, change: impl FnOnce(&mut CallFacts)) {
        if let Some(facts) = &self.0 {
            change(&mut facts.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn facts(&self) -> CallFacts {
        let facts = self.0.as_ref().map(|facts| facts.lock().unwrap_or_else(PoisonError::into_inner).clone());
        facts.unwrap_or_default()
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallEnd {
    pub(crate) code: Code,
    pub(crate) reason: Option<RefusalReason>,
}

/// A call in progress, whose line is written when it ends. One that is dropped was cancelled.
struct PendingLine {
    log: AuditLog,
    call: AuditedCall,
    method: String,
    effect: CallEffect,
    /// The namespace for which the caller asks, also if it may not.
    namespace: Option<String>,
    peer: Option<SocketAddr>,
    started: Instant,
    ended: bool,
}

impl PendingLine {
    /// `None` for a call without a line.
    fn begin(
        log: &AuditLog,
        method: String,
        effect: CallEffect,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> Option<Self> {
        let written = match effect {
            CallEffect::Reads => false,
            CallEffect::Changes => tracing::enabled!(target: TARGET, Level::INFO),
            CallEffect::ChangesOften => tracing::enabled!(target: TARGET, Level::DEBUG),
        };
        let namespace =
            headers.get(NAMESPACE_HEADER).map(|value| printable(&String::from_utf8_lossy(value.as_bytes())));
        written.then(|| Self {
            log: log.clone(),
            call: AuditedCall::begin(),
            method,
            effect,
            namespace,
            peer: extensions.get().map(|ConnectInfo(peer)| *peer),
            started: Instant::now(),
            ended: false,
        })
    }

    fn call(&self) -> AuditedCall {
        self.call.clone()
    }

    fn ended(mut self, end: CallEnd) {
        self.write(end);
    }

    fn write(&mut self, end: CallEnd) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let CallFacts { caller, job, node, session } = self.call.facts();
        let omitted = match &caller {
            Some(_) => 0,
            None => match self.log.0.admit(Instant::now()) {
                Some(omitted) => omitted,
                None => return,
            },
        };
        let roles =
            caller.as_ref().map(|caller| caller.roles.iter().map(Role::name).collect::<Vec<_>>().join(","));
        let subject = caller.as_ref().map(|caller| printable(&caller.subject));
        let tenant = caller.as_ref().and_then(|caller| caller.tenant.as_ref()).map(TenantId::as_str);
        let (job, session) = (job.map(|id| id.to_string()), session.map(|id| id.to_string()));
        let peer = self.peer.map(|peer| peer.to_string());
        // A macro, because the level of an event is part of its callsite.
        macro_rules! line {
            ($level:expr) => {
                tracing::event!(
                    target: TARGET,
                    $level,
                    subject = subject.as_deref(),
                    tenant,
                    roles = roles.as_deref(),
                    namespace = self.namespace.as_deref(),
                    method = self.method,
                    job = job.as_deref(),
                    node = node.as_deref(),
                    session = session.as_deref(),
                    result = code_name(end.code),
                    reason = end.reason.map(RefusalReason::name),
                    peer = peer.as_deref(),
                    duration_ms = milliseconds(self.started.elapsed()),
                    omitted = (omitted > 0).then_some(omitted),
                    "call ended"
                )
            };
        }
        match self.effect {
            CallEffect::ChangesOften => line!(Level::DEBUG),
            CallEffect::Changes | CallEffect::Reads => line!(Level::INFO),
        }
    }
}

impl Drop for PendingLine {
    fn drop(&mut self) {
        self.write(CallEnd { code: Code::Cancelled, reason: None });
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
