//! Metrics of requests, by verb, resource and status code.

use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _};
use http::{Request, Response, StatusCode};
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};
use vmafx_kit::closed_label;
use vmafx_kit::metrics::{CounterBy, HistogramBy, LabelSet, Metrics};

use super::api_call::{ApiCall, ApiVerb, ResourceLabel};
use super::write_gate::refused_by_gate;

closed_label! {
    pub enum ResponseCode: "code" {
        Success = "2xx",
        Redirect = "3xx",
        BadRequest = "400",
        Forbidden = "403",
        NotFound = "404",
        Conflict = "409",
        Gone = "410",
        Invalid = "422",
        TooMany = "429",
        ClientError = "4xx",
        ServerError = "5xx",
        /// No answer arrived, or the request was cancelled.
        Unanswered = "none",
        /// The write was not sent, because another operator leads.
        NotLeading = "gate",
    }
}

impl From<StatusCode> for ResponseCode {
    fn from(status: StatusCode) -> Self {
        match status.as_u16() {
            300..400 => Self::Redirect,
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

/// Buckets in seconds.
const SECONDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The metrics of all clients, as a layer of each.
#[derive(Clone, Debug)]
pub struct ClientMetrics {
    requests: CounterBy<(ApiVerb, ResourceLabel, ResponseCode)>,
    seconds: HistogramBy<(ApiVerb,)>,
}

impl ClientMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            requests: metrics.counter_by(
                "operator_api_requests",
                "Requests to the API server; writes while nothing changes mean that another client reverts the operator's changes",
            ),
            seconds: metrics.histogram_by(
                "operator_api_request_seconds",
                "Time until the API server began to answer",
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
        let ApiCall { verb, resource, .. } = ApiCall::of(&request);
        let (metrics, started) = (self.metrics.clone(), Instant::now());
        let code = ResponseCode::Unanswered;
        let count = RequestCount { metrics, verb, resource, started, code };
        let answer = self.inner.call(request);
        async move {
            // The whole count moves into the future, which counts the request when it is dropped.
            let mut count = count;
            let answer = answer.await;
            count.code = match &answer {
                Ok(answer) => answer.status().into(),
                Err(error) if refused_by_gate(error.as_ref()) => ResponseCode::NotLeading,
                Err(_) => ResponseCode::Unanswered,
            };
            answer
        }
        .boxed()
    }
}

/// Counts a request when it is dropped, so that a cancelled request is counted too.
struct RequestCount {
    metrics: ClientMetrics,
    verb: ApiVerb,
    resource: ResourceLabel,
    started: Instant,
    code: ResponseCode,
}

impl Drop for RequestCount {
    fn drop(&mut self) {
        self.metrics.requests.get_or_create(&LabelSet((self.verb, self.resource, self.code))).inc();
        if !matches!(self.code, ResponseCode::Unanswered | ResponseCode::NotLeading) {
            let seconds = self.started.elapsed().as_secs_f64();
            self.metrics.seconds.get_or_create(&LabelSet((self.verb,))).observe(seconds);
        }
    }
}
