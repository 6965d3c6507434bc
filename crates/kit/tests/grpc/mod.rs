//! A small gRPC service without generated code, its server, and a client for it. Messages are strings.

mod pki;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::{MethodRouter, post};
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
    seen: AtomicUsize,
    _running: JoinSet<()>,
}

impl Server {
    pub(crate) async fn plain() -> Self {
        Self::plain_at(&any_addr()).await
    }

    pub(crate) async fn plain_at(addr: &HostPort) -> Self {
        Self::start(addr, tonic::transport::Server::builder()).await
    }

    pub(crate) async fn tls(pki: &Pki) -> Self {
        let builder = tonic::transport::Server::builder().tls_config(pki.server()).unwrap();
        Self::start(&any_addr(), builder).await
    }

    /// Refuses every call before it does anything for it.
    pub(crate) async fn not_ready() -> Self {
        Self::refusing(|| vmafx_kit::channel::not_ready("no store")).await
    }

    /// Answers every call with `UNAVAILABLE`, and may have done something for it.
    pub(crate) async fn unavailable() -> Self {
        Self::refusing(|| Status::unavailable("lost its store")).await
    }

    /// Never answers.
    pub(crate) async fn silent() -> Self {
        let router = Router::new().route("/t.Test/Echo", post(std::future::pending::<HttpResponse>));
        Self::serve(&any_addr(), tonic::transport::Server::builder(), Arc::default(), router).await
    }

    /// Opens streams and ends them with `UNAVAILABLE`.
    pub(crate) async fn ending_streams() -> Self {
        let calls: Arc<AtomicUsize> = Arc::default();
        let ended = |_: &Request<String>| stream::iter([Err(Status::unavailable("lost its store"))]).boxed();
        let router = Router::new().route("/t.Test/Late", counted(&calls, ended));
        Self::serve(&any_addr(), tonic::transport::Server::builder(), calls, router).await
    }

    /// Answers with a status and no body.
    async fn refusing(status: fn() -> Status) -> Self {
        let calls: Arc<AtomicUsize> = Arc::default();
        let counted = calls.clone();
        let refuse = post(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::ready(status().into_http::<Body>())
        });
        let router = Router::new().route("/t.Test/Echo", refuse);
        Self::serve(&any_addr(), tonic::transport::Server::builder(), calls, router).await
    }

    /// The calls since the last time.
    pub(crate) fn take_new_calls(&self) -> usize {
        let calls = self.calls();
        calls - self.seen.swap(calls, Ordering::SeqCst)
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    async fn start(addr: &HostPort, builder: tonic::transport::Server) -> Self {
        let calls: Arc<AtomicUsize> = Arc::default();
        let router = routes(&calls);
        Self::serve(addr, builder, calls, router).await
    }

    async fn serve(
        addr: &HostPort,
        mut builder: tonic::transport::Server,
        calls: Arc<AtomicUsize>,
        router: Router,
    ) -> Self {
        let listener = TcpListener::bind((addr.host(), addr.port())).await.unwrap();
        let addr = listener.local_addr().unwrap().to_string().parse().unwrap();
        let service = builder.add_routes(Routes::from(router));
        let mut running = JoinSet::new();
        running.spawn(async { service.serve_with_incoming(TcpIncoming::from(listener)).await.unwrap() });
        Self { addr, calls, seen: AtomicUsize::new(0), _running: running }
    }
}

/// An address nobody listens on.
pub(crate) async fn unused_addr() -> HostPort {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string().parse().unwrap()
}

fn any_addr() -> HostPort {
    "127.0.0.1:0".parse().unwrap()
}

fn counted(calls: &Arc<AtomicUsize>, handler: fn(&Request<String>) -> TextStream) -> MethodRouter {
    let calls = calls.clone();
    post(move |request: http::Request<Body>| {
        calls.fetch_add(1, Ordering::SeqCst);
        respond(request, handler)
    })
}

pub(crate) fn routes(calls: &Arc<AtomicUsize>) -> Router {
    Router::new()
        .route("/t.Test/Echo", counted(calls, echo))
        .route("/t.Test/Stall", counted(calls, |_| stream::pending().boxed()))
        .route("/t.Test/Late", counted(calls, late))
        .route("/t.Test/Two", counted(calls, two))
        .route("/t.Test/Silent", post(std::future::pending::<HttpResponse>))
}

/// Responds with the token and the timeout of the call.
fn echo(request: &Request<String>) -> TextStream {
    let header = |name| request.metadata().get(name).map_or("-", |value| value.to_str().unwrap());
    let text = format!("{} {}", header("authorization"), header("grpc-timeout"));
    stream::iter([Ok(text)]).boxed()
}

/// Two messages, the second a moment after the first.
fn two(_: &Request<String>) -> TextStream {
    let second = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok("second".to_owned())
    };
    stream::iter([Ok("first".to_owned())]).chain(stream::once(second)).boxed()
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
