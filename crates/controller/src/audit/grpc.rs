//! A layer around all gRPC services. The status of a unary call is in the headers of its response, or it is `ok`.

use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{HeaderMap, Request, Response};
use tonic::{Code, Status};
use tower::{Layer, Service};
use vmafx_proto::refusal::RefusalReason;

use super::{AuditLog, CallEnd, PendingLine};
use crate::auth::permissions::{self, CallEffect};

#[derive(Clone, Debug)]
pub struct GrpcAuditLayer(pub AuditLog);

impl<S> Layer<S> for GrpcAuditLayer {
    type Service = GrpcAudit<S>;

    fn layer(&self, inner: S) -> GrpcAudit<S> {
        GrpcAudit { inner, log: self.0.clone() }
    }
}

#[derive(Clone, Debug)]
pub struct GrpcAudit<S> {
    inner: S,
    log: AuditLog,
}

impl<S, A, B> Service<Request<A>> for GrpcAudit<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<B>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<A>) -> Self::Future {
        let path = request.uri().path();
        // An unlisted method is denied to everybody, so it changes nothing.
        let effect = permissions::grpc_method(path).map_or(CallEffect::Reads, |(_, _, effect, ..)| *effect);
        let method = path.trim_start_matches('/').to_owned();
        let line = PendingLine::begin(&self.log, method, effect, request.headers(), request.extensions());
        let Some(line) = line else { return Box::pin(self.inner.call(request)) };
        request.extensions_mut().insert(line.call());
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await?;
            line.ended(end(response.headers()));
            Ok(response)
        })
    }
}

fn end(headers: &HeaderMap) -> CallEnd {
    Status::from_header_map(headers).map_or(CallEnd { code: Code::Ok, reason: None }, |status| CallEnd {
        code: status.code(),
        reason: RefusalReason::of(&status),
    })
}
