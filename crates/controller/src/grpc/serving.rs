//! A layer that refuses calls while the store cannot be reached.
//!
//! A call would otherwise wait for the timeouts of the store, on every one of its retries. It is refused before anything
//! is done for it, with a status that tells clients to send it to another controller. Calls that already run when the
//! store is lost end as well, and may or may not have had an effect. Only a caller that waits for a score goes on waiting,
//! because ending its call would cancel the job.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::Status;
use tower::{Layer, Service};
use vmafx_kit::channel::not_ready;
use vmafx_kit::health::ServingSignal;

use crate::refusal::Refusal;

#[derive(Clone, Debug)]
pub struct ServingLayer(pub ServingSignal);

impl<S> Layer<S> for ServingLayer {
    type Service = ServingService<S>;

    fn layer(&self, inner: S) -> ServingService<S> {
        ServingService { inner, serving: self.0.clone() }
    }
}

#[derive(Clone, Debug)]
pub struct ServingService<S> {
    inner: S,
    serving: ServingSignal,
}

/// What the loss of the store means for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreNeed {
    /// Health and reflection.
    None,
    /// No new call.
    ToStart,
    /// No new call, and running ones end.
    Always,
}

fn store_need(path: &str) -> StoreNeed {
    match path.trim_start_matches('/').split_once('/') {
        Some(("vmafx.controller.v1.VmafxController", _)) => StoreNeed::Always,
        Some(("vmafx.v1.VmafxScoring", _)) => StoreNeed::ToStart,
        _ => StoreNeed::None,
    }
}

impl<S, B, A> Service<Request<B>> for ServingService<S>
where
    S: Service<Request<B>, Response = Response<A>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
    A: Default,
{
    type Response = Response<A>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<A>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let need = store_need(request.uri().path());
        if need != StoreNeed::None && !self.serving.is_serving() {
            let status = not_ready(Refusal::StoreUnavailable.to_string());
            return Box::pin(async move { Ok(status.into_http()) });
        }
        // `poll_ready` reserved capacity in `self.inner`, so that instance is called and the clone stays behind.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let response = inner.call(request);
        if need != StoreNeed::Always {
            return Box::pin(response);
        }
        let lost = self.serving.stopped();
        Box::pin(async move {
            tokio::select! {
                biased;
                response = response => response,
                () = lost => Ok(Status::from(Refusal::StoreUnavailable).into_http()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use rstest::rstest;
    use tonic::Code;
    use tower::{ServiceExt as _, service_fn};
    use vmafx_proto::refusal::RefusalReason;

    use super::*;

    #[rstest]
    #[case("/vmafx.controller.v1.VmafxController/PullWork", StoreNeed::Always)]
    #[case("/vmafx.v1.VmafxScoring/Score", StoreNeed::ToStart)]
    #[case("/grpc.health.v1.Health/Check", StoreNeed::None)]
    #[case("/", StoreNeed::None)]
    fn only_our_own_services_need_the_store(#[case] path: &str, #[case] expected: StoreNeed) {
        assert_eq!(store_need(path), expected);
    }

    fn request(path: &str) -> Request<()> {
        Request::builder().uri(path).body(()).unwrap()
    }

    #[tokio::test]
    async fn a_running_pull_ends_when_the_store_is_lost_and_the_next_one_is_refused() {
        let serving = ServingSignal::default();
        let hanging = service_fn(|_: Request<()>| std::future::pending::<Result<Response<()>, Infallible>>());
        let service = ServingLayer(serving.clone()).layer(hanging);
        let path = "/vmafx.controller.v1.VmafxController/PullWork";
        let mut running = Box::pin(service.clone().oneshot(request(path)));
        assert!(futures::poll!(&mut running).is_pending());
        serving.set(false);
        let ended = running.await.unwrap();
        let status = Status::from_header_map(ended.headers()).unwrap();
        assert_eq!(RefusalReason::of(&status), Some(RefusalReason::StoreUnavailable));
        let refused = service.clone().oneshot(request(path)).await.unwrap();
        let status = Status::from_header_map(refused.headers()).unwrap();
        assert_eq!((status.code(), RefusalReason::of(&status)), (Code::Unavailable, None));
    }
}
