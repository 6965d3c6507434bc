//! A small gRPC service without generated code, its server, and a client for it. Messages are strings.

mod pki;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::post;
use futures::stream::{self, BoxStream, StreamExt};
pub(crate) use pki::Pki;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::{IntoRequest, Request, Response, Status, Streaming};
use vmafx_kit::channel::GrpcChannel;
use vmafx_kit::config::HostPort;

/// In prost a `String` is a message, `google.protobuf.StringValue`.
type TextCodec = tonic_prost::ProstCodec<String, String>;

type HttpResponse = http::Response<Body>;

type TextStream = BoxStream<'static, Result<String, Status>>;

/// Runs until dropped.
pub(crate) struct Server {
    pub(crate) addr: HostPort,
    calls: Arc<AtomicUsize>,
    _running: JoinSet<()>,
}

impl Server {
    pub(crate) async fn plain() -> Self {
        Self::plain_at(&"127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) async fn plain_at(addr: &HostPort) -> Self {
        Self::start(addr, tonic::transport::Server::builder()).await
    }

    pub(crate) async fn tls(pki: &Pki) -> Self {
        let builder = tonic::transport::Server::builder().tls_config(pki.server()).unwrap();
        Self::start(&"127.0.0.1:0".parse().unwrap(), builder).await
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    async fn start(addr: &HostPort, mut builder: tonic::transport::Server) -> Self {
        let listener = TcpListener::bind((addr.host(), addr.port())).await.unwrap();
        let addr = listener.local_addr().unwrap().to_string().parse().unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let service = builder.add_routes(Routes::from(routes(calls.clone())));
        let mut running = JoinSet::new();
        running.spawn(async { service.serve_with_incoming(TcpIncoming::from(listener)).await.unwrap() });
        Self { addr, calls, _running: running }
    }
}

/// An address nobody listens on.
pub(crate) async fn unused_addr() -> HostPort {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string().parse().unwrap()
}

fn routes(calls: Arc<AtomicUsize>) -> Router {
    let counted = move |handler: fn(&Request<String>) -> TextStream| {
        let calls = calls.clone();
        post(move |request: http::Request<Body>| {
            calls.fetch_add(1, Ordering::SeqCst);
            respond(request, handler)
        })
    };
    Router::new()
        .route("/t.Test/Echo", counted(echo))
        .route("/t.Test/Stall", counted(|_| stream::pending().boxed()))
        .route("/t.Test/Late", counted(late))
        .route("/t.Test/Silent", post(std::future::pending::<HttpResponse>))
}

/// Responds with the token and the timeout of the call.
fn echo(request: &Request<String>) -> TextStream {
    let header = |name| request.metadata().get(name).map_or("-", |value| value.to_str().unwrap());
    let text = format!("{} {}", header("authorization"), header("grpc-timeout"));
    stream::iter([Ok(text)]).boxed()
}

fn late(_: &Request<String>) -> TextStream {
    stream::once(async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        Ok("at last".to_owned())
    })
    .boxed()
}

async fn respond(request: http::Request<Body>, handler: fn(&Request<String>) -> TextStream) -> HttpResponse {
    struct Handler(fn(&Request<String>) -> TextStream);
    impl tonic::server::ServerStreamingService<String> for Handler {
        type Response = String;
        type ResponseStream = TextStream;
        type Future = std::future::Ready<Result<Response<TextStream>, Status>>;
        fn call(&mut self, request: Request<String>) -> Self::Future {
            std::future::ready(Ok(Response::new(self.0(&request))))
        }
    }
    tonic::server::Grpc::new(TextCodec::default())
        .server_streaming(Handler(handler), request)
        .await
        .map(Body::new)
}

fn path(method: &str) -> http::uri::PathAndQuery {
    format!("/t.Test/{method}").parse().unwrap()
}

/// Makes a test fail where a call would hang; where time is paused, an hour costs nothing.
async fn with_timeout<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_hours(1), call).await.unwrap()
}

/// A unary call.
pub(crate) async fn call(
    channel: &GrpcChannel,
    method: &str,
    request: impl IntoRequest<()>,
) -> Result<String, Status> {
    let request = request.into_request().map(|()| String::new());
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await?;
    let response = client.unary(request, path(method), TextCodec::default());
    Ok(with_timeout(response).await?.into_inner())
}

/// A server-streaming call.
pub(crate) async fn open_stream(
    channel: &GrpcChannel,
    method: &str,
    request: Request<()>,
) -> Result<Streaming<String>, Status> {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await?;
    let request = request.map(|()| String::new());
    let response = client.server_streaming(request, path(method), TextCodec::default());
    Ok(with_timeout(response).await?.into_inner())
}
