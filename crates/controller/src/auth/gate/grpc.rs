//! The gate for gRPC: a layer around all services. A refusal is an answer of trailers alone, which every client
//! understands, whether it waits for one message or for many.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::Status;
use tower::{Layer, Service};

use super::Gate;
use crate::auth::table;

/// Puts the gate around services.
#[derive(Clone, Debug)]
pub struct GrpcGate(Gate);

impl GrpcGate {
    /// This gate.
    pub fn new(gate: Gate) -> Self {
        Self(gate)
    }
}

impl<S> Layer<S> for GrpcGate {
    type Service = GrpcGated<S>;

    fn layer(&self, inner: S) -> GrpcGated<S> {
        GrpcGated { inner, gate: self.0.clone() }
    }
}

/// A service behind the gate.
#[derive(Clone, Debug)]
pub struct GrpcGated<S> {
    inner: S,
    gate: Gate,
}

impl<S, B, A> Service<Request<B>> for GrpcGated<S>
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

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // The one that was found ready must be the one that is called.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let gate = self.gate.clone();
        Box::pin(async move {
            let entry = table::grpc(request.uri().path());
            match gate.admit(entry, request.headers()).await {
                Ok(identity) => {
                    identity.map(|identity| request.extensions_mut().insert(identity));
                    inner.call(request).await
                }
                Err(refusal) => Ok(Status::from(refusal).into_http()),
            }
        })
    }
}
