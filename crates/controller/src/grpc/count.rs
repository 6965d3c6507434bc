//! Counts calls by method and code.
//!
//! The code of an answer stands in its trailers, or in its head when there is nothing else to say, so the body is
//! followed to its end. A body that is dropped before is a call that the client gave up.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use tonic::Code;
use tower::{Layer, Service};
use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, LabelSet, Metrics, OpenLabel, OpenLabelValue, OpenLabelValues};

/// A method that is served. There are fewer than the limit, and others are not asked for.
#[derive(Debug)]
pub(super) struct Method;

impl OpenLabel for Method {
    const NAME: &'static str = "method";
    const LIMIT: usize = 64;
}

closed_label! {
    /// How a call ended.
    pub enum CodeLabel: "code" {
        /// 0
        Ok = "ok",
        /// 1
        Cancelled = "cancelled",
        /// 2
        Unknown = "unknown",
        /// 3
        InvalidArgument = "invalid_argument",
        /// 4
        DeadlineExceeded = "deadline_exceeded",
        /// 5
        NotFound = "not_found",
        /// 6
        AlreadyExists = "already_exists",
        /// 7
        PermissionDenied = "permission_denied",
        /// 8
        ResourceExhausted = "resource_exhausted",
        /// 9
        FailedPrecondition = "failed_precondition",
        /// 10
        Aborted = "aborted",
        /// 11
        OutOfRange = "out_of_range",
        /// 12
        Unimplemented = "unimplemented",
        /// 13
        Internal = "internal",
        /// 14
        Unavailable = "unavailable",
        /// 15
        DataLoss = "data_loss",
        /// 16
        Unauthenticated = "unauthenticated",
    }
}

impl From<Code> for CodeLabel {
    fn from(code: Code) -> Self {
        match code {
            Code::Ok => Self::Ok,
            Code::Cancelled => Self::Cancelled,
            Code::Unknown => Self::Unknown,
            Code::InvalidArgument => Self::InvalidArgument,
            Code::DeadlineExceeded => Self::DeadlineExceeded,
            Code::NotFound => Self::NotFound,
            Code::AlreadyExists => Self::AlreadyExists,
            Code::PermissionDenied => Self::PermissionDenied,
            Code::ResourceExhausted => Self::ResourceExhausted,
            Code::FailedPrecondition => Self::FailedPrecondition,
            Code::Aborted => Self::Aborted,
            Code::OutOfRange => Self::OutOfRange,
            Code::Unimplemented => Self::Unimplemented,
            Code::Internal => Self::Internal,
            Code::Unavailable => Self::Unavailable,
            Code::DataLoss => Self::DataLoss,
            Code::Unauthenticated => Self::Unauthenticated,
        }
    }
}

/// Calls by method and code. Clones count into the same.
#[derive(Clone)]
pub struct CallMetrics {
    calls: CounterBy<(OpenLabelValue<Method>, CodeLabel)>,
    methods: Arc<OpenLabelValues<Method>>,
}

impl CallMetrics {
    /// Adds them to the metrics of the process.
    pub fn new(metrics: &mut Metrics) -> Self {
        let calls = metrics.counter_by("controller_grpc_requests", "Calls by method and code");
        Self { calls, methods: Arc::default() }
    }

    fn count(&self, method: OpenLabelValue<Method>, code: Code) {
        self.calls.get_or_create(&LabelSet((method, code.into()))).inc();
    }

    /// The method of a path. Paths that nobody serves are one method, whatever the client wrote.
    fn method(&self, path: &str) -> OpenLabelValue<Method> {
        self.methods.get(if is_served(path) { path.trim_start_matches('/') } else { "other" })
    }
}

/// Whether a path has the shape of ours; the limit of the label bounds what is left.
fn is_served(path: &str) -> bool {
    let Some((service, method)) = path.trim_start_matches('/').split_once('/') else { return false };
    let ours = ["vmafx.controller.v1.VmafxController", "vmafx.v1.VmafxScoring", "grpc.health.v1.Health"];
    let known = ours.contains(&service) || service.starts_with("grpc.reflection.v1");
    known && !method.is_empty() && method.len() <= 32 && method.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Counts every call of what it is laid around.
#[derive(Clone)]
pub struct CountCalls(pub CallMetrics);

impl<S> Layer<S> for CountCalls {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, metrics: self.0.clone() }
    }
}

/// A service whose calls are counted.
#[derive(Clone)]
pub struct Counted<S> {
    inner: S,
    metrics: CallMetrics,
}

impl<S, A, B> Service<Request<A>> for Counted<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: 'static,
{
    type Response = Response<CountedBody<B>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let method = self.metrics.method(request.uri().path());
        let mut call = Call { metrics: self.metrics.clone(), method: Some(method) };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let response = answer.await?;
            if let Some(code) = code(response.headers()) {
                call.ended(code);
            }
            Ok(response.map(|body| CountedBody { body, call }))
        })
    }
}

fn code(headers: &HeaderMap) -> Option<Code> {
    headers.get("grpc-status").map(|status| Code::from_bytes(status.as_bytes()))
}

/// A call under way; one that is dropped was given up by the client.
struct Call {
    metrics: CallMetrics,
    method: Option<OpenLabelValue<Method>>,
}

impl Call {
    fn ended(&mut self, code: Code) {
        if let Some(method) = self.method.take() {
            self.metrics.count(method, code);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.ended(Code::Cancelled);
    }
}

/// A body that is followed to its trailers.
pub struct CountedBody<B> {
    body: B,
    call: Call,
}

impl<B: Body + Unpin> Body for CountedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(code) = frame.trailers_ref().and_then(code) {
                    self.call.ended(code);
                }
            }
            Some(Err(_)) => self.call.ended(Code::Unknown),
            None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
