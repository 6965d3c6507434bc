//! A layer around all gRPC services. A refusal is a trailers-only response, which is valid for unary and streaming calls.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::Status;
use tower::{Layer, Service};

use super::{CallAuthorizer, Credential, RequestHead, admit};
use crate::audit::AuditedCall;
use crate::auth::permissions;

#[derive(Clone, Debug)]
pub struct GrpcAuthLayer(CallAuthorizer);

impl GrpcAuthLayer {
    pub fn new(authorizer: CallAuthorizer) -> Self {
        Self(authorizer)
    }
}

impl<S> Layer<S> for GrpcAuthLayer {
    type Service = GrpcAuthService<S>;

    fn layer(&self, inner: S) -> GrpcAuthService<S> {
        GrpcAuthService { inner, authorizer: self.0.clone() }
    }
}

#[derive(Clone, Debug)]
pub struct GrpcAuthService<S> {
    inner: S,
    authorizer: CallAuthorizer,
}

impl<S, B, A> Service<Request<B>> for GrpcAuthService<S>
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
        // `poll_ready` reserved capacity in `self.inner`, so that instance is called and the clone stays behind.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let authorizer = self.authorizer.clone();
        Box::pin(async move {
            let permission = permissions::of_grpc_method(request.uri().path());
            let call = AuditedCall::of(request.extensions());
            let credential = Credential::of_header(request.headers());
            let head = RequestHead::of(&request, credential);
            match authorizer.authorize(permission, head, &call).await {
                Ok(caller) => {
                    admit(caller, request.extensions_mut());
                    inner.call(request).await
                }
                Err(refusal) => Ok(Status::from(refusal).into_http()),
            }
        })
    }
}
