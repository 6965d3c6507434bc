//! All services as one.
//!
//! The queue's own methods go straight to their service: thousands of nodes call them, and a router of routes that are
//! hardly ever taken would cost each call a tenth of its time.

use std::convert::Infallible;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use tonic::body::Body;
use tonic::service::Routes;
use tower::Service;
use vmafx_proto::controller::v1::vmafx_controller_server::VmafxControllerServer;

use super::controller::Controller;

const QUEUE: &str = "/vmafx.controller.v1.VmafxController/";

/// Everything that is served.
#[derive(Clone)]
pub struct Services {
    pub(super) queue: VmafxControllerServer<Controller>,
    pub(super) others: Routes,
}

impl Service<Request<Body>> for Services {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // Neither of them ever waits.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if request.uri().path().starts_with(QUEUE) {
            self.queue.call(request)
        } else {
            Box::pin(self.others.call(request))
        }
    }
}
