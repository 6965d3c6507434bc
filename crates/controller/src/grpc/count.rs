//! Counts calls by method and status code.
//!
//! The status of a gRPC response is in its trailers, or in its headers when it has no body, so the body is followed to
//! its end. A body that is dropped before its end counts as a call that the client cancelled.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use tonic::Code;
use tower::{Layer, Service};
use vmafx_kit::metrics::{
    CounterBy, LabelSet, MetricLabel, Metrics, OpenLabel, OpenLabelValue, OpenLabelValues,
};

/// A method that is served. There are fewer methods than the limit.
#[derive(Debug)]
pub(super) struct Method;

impl OpenLabel for Method {
    const NAME: &'static str = "method";
    const LIMIT: usize = 64;
}

/// Status code of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CodeLabel(Code);

impl MetricLabel for CodeLabel {
    const NAME: &'static str = "code";

    fn value(&self) -> &'static str {
        code_name(self.0)
    }

    fn all() -> Vec<Self> {
        (0..=16).map(|number| Self(Code::from_i32(number))).collect()
    }
}

/// The name of a status code in metrics and in the audit log.
pub(crate) const fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "ok",
        Code::Cancelled => "cancelled",
        Code::Unknown => "unknown",
        Code::InvalidArgument => "invalid_argument",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::NotFound => "not_found",
        Code::AlreadyExists => "already_exists",
        Code::PermissionDenied => "permission_denied",
        Code::ResourceExhausted => "resource_exhausted",
        Code::FailedPrecondition => "failed_precondition",
        Code::Aborted => "aborted",
        Code::OutOfRange => "out_of_range",
        Code::Unimplemented => "unimplemented",
        Code::Internal => "internal",
        Code::Unavailable => "unavailable",
        Code::DataLoss => "data_loss",
        Code::Unauthenticated => "unauthenticated",
    }
}

/// Calls by method and code. Clones share the counters.
#[derive(Clone)]
pub struct CallMetrics {
    calls: CounterBy<(OpenLabelValue<Method>, CodeLabel)>,
    methods: Arc<OpenLabelValues<Method>>,
}

impl CallMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        let calls = metrics.counter_by("controller_grpc_requests", "Calls by method and code");
        Self { calls, methods: Arc::default() }
    }

    fn count(&self, method: OpenLabelValue<Method>, code: Code) {
        self.calls.get_or_create(&LabelSet((method, CodeLabel(code)))).inc();
    }

    /// The method of a path. All paths that are not served count as one method, so that clients cannot add labels.
    fn method(&self, path: &str) -> OpenLabelValue<Method> {
        self.methods.get(if is_served(path) { path.trim_start_matches('/') } else { "other" })
    }
}

/// Whether a path looks like one of a served method; the limit of the label bounds the rest.
fn is_served(path: &str) -> bool {
    let Some((service, method)) = path.trim_start_matches('/').split_once('/') else { return false };
    let services = ["vmafx.controller.v1.VmafxController", "vmafx.v1.VmafxScoring", "grpc.health.v1.Health"];
    let known = services.contains(&service) || service.starts_with("grpc.reflection.v1");
    known && !method.is_empty() && method.len() <= 32 && method.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Layer that counts the calls of a service.
#[derive(Clone)]
pub struct CountCalls(pub CallMetrics);

impl<S> Layer<S> for CountCalls {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, metrics: self.0.clone() }
    }
}

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
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await?;
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

/// A call in progress. One that is dropped counts as cancelled by the client.
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

/// A response body whose trailers are read.
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
