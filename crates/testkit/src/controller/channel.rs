//! gRPC channels to a controller.

use std::net::SocketAddr;
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

/// Timeout of a call, longer than the controller holds any of them.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// For the clients of `vmafx-proto`: `VmafxControllerClient::new(controller.channel(None))`.
pub type ControllerChannel = InterceptedService<Channel, BearerToken>;

/// Adds a token to every call, if there is one.
#[derive(Debug, Clone)]
pub struct BearerToken(Option<MetadataValue<Ascii>>);

impl Interceptor for BearerToken {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

#[expect(clippy::expect_used, reason = "socket addresses and the tokens of tests are valid")]
pub(super) fn connect_lazy(address: SocketAddr, token: Option<&str>) -> ControllerChannel {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("a valid URI");
    let value = token.map(|token| format!("Bearer {token}").parse().expect("a token of ASCII characters"));
    InterceptedService::new(endpoint.timeout(CALL_TIMEOUT).connect_lazy(), BearerToken(value))
}
