//! Requests counted by what they asked and what came of it.

use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _};
use http::{Request, Response, StatusCode};
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};
use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, HistogramBy, LabelSet, Metrics};

use super::api_call::{ApiCall, ResourceLabel, Verb};
use super::write_gate;

closed_label! {
    /// What came of a request.
    pub enum ResponseCode: "code" {
        /// It was done.
        Success = "2xx",
        /// It had been done already, or is somewhere else.
        Elsewhere = "3xx",
        /// It made no sense.
        BadRequest = "400",
        /// It is not allowed.
        Forbidden = "403",
        /// There is no such thing.
        NotFound = "404",
        /// Somebody was faster.
        Conflict = "409",
        /// The version is too old.
        Gone = "410",
        /// A rule speaks against it.
        Invalid = "422",
        /// It came too soon.
        TooMany = "429",
        /// It was wrong otherwise.
        ClientError = "4xx",
        /// The server could not.
        ServerError = "5xx",
        /// No answer came, or nobody waited for it.
        Unanswered = "none",
        /// It was not sent: another operator leads.
        NotLeading = "gate",
    }
}

impl From<StatusCode> for ResponseCode {
    fn from(status: StatusCode) -> Self {
        match status.as_u16() {
            300..400 => Self::Elsewhere,
            400 => Self::BadRequest,
            403 => Self::Forbidden,
            404 => Self::NotFound,
            409 => Self::Conflict,
            410 => Self::Gone,
            422 => Self::Invalid,
            429 => Self::TooMany,
            401..500 => Self::ClientError,
            500.. => Self::ServerError,
            _ => Self::Success,
        }
    }
}

/// Buckets for answers of the API server, in seconds.
const SECONDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The metrics of all clients; a layer of each of them.
#[derive(Clone, Debug)]
pub struct ClientMetrics {
    requests: CounterBy<(Verb, ResourceLabel, ResponseCode)>,
    seconds: HistogramBy<(Verb,)>,
}

impl ClientMetrics {
    /// Makes them.
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            requests: metrics.counter_by(
                "operator_api_requests",
                "Requests to the API server; writes at rest mean that somebody undoes what the operator does",
            ),
            seconds: metrics.histogram_by(
                "operator_api_request_seconds",
                "Time until the API server's answer began",
                SECONDS,
            ),
        }
    }
}

impl<S> Layer<S> for ClientMetrics {
    type Service = CountedService<S>;

    fn layer(&self, inner: S) -> CountedService<S> {
        CountedService { inner, metrics: self.clone() }
    }
}

/// See [`ClientMetrics`].
#[derive(Clone, Debug)]
pub struct CountedService<S> {
    inner: S,
    metrics: ClientMetrics,
}

impl<S, R> Service<Request<Body>> for CountedService<S>
where
    S: Service<Request<Body>, Response = Response<R>, Error = BoxError, Future: Send + 'static>,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<R>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let ApiCall { verb, kind, .. } = ApiCall::of(&request);
        let (metrics, begun) = (self.metrics.clone(), Instant::now());
        let mut count = Count { metrics, verb, kind, begun, code: ResponseCode::Unanswered };
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await;
            count.ended(match &answer {
                Ok(answer) => answer.status().into(),
                Err(error) if write_gate::refused(error.as_ref()) => ResponseCode::NotLeading,
                Err(_) => ResponseCode::Unanswered,
            });
            answer
        }
        .boxed()
    }
}

/// Counts when it is dropped, so that a request is counted too when nobody waits for its answer any more.
struct Count {
    metrics: ClientMetrics,
    verb: Verb,
    kind: ResourceLabel,
    begun: Instant,
    code: ResponseCode,
}

impl Count {
    fn ended(&mut self, code: ResponseCode) {
        self.code = code;
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.metrics.requests.get_or_create(&LabelSet((self.verb, self.kind, self.code))).inc();
        if !matches!(self.code, ResponseCode::Unanswered | ResponseCode::NotLeading) {
            let seconds = self.begun.elapsed().as_secs_f64();
            self.metrics.seconds.get_or_create(&LabelSet((self.verb,))).observe(seconds);
        }
    }
}
