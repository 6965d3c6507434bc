use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use tokio::net::TcpListener;
use tower::ServiceBuilder;
use vmafx_kit::config::SettingsError;
use vmafx_kit::health::{self, Readiness, ServingSignal};
use vmafx_kit::serve::{GrpcLifetimes, GrpcLimits, LimitMetrics, incoming, listen, serve_grpc, serve_with};
use vmafx_kit::tasks::{BoxError, Shutdown, TaskSet};
use vmafx_kit::tls::{CertificateMetrics, CertificatePurpose};
use vmafx_queue::clock::Clock;

use super::Addresses;
use crate::audit::{AuditLog, GrpcAuditLayer, audit_http};
use crate::auth::middleware::{CallAuthorizer, GrpcAuthLayer, authorize_http};
use crate::auth::session_cookie::SessionCookie;
use crate::auth::{Access, CertificatePolicy};
use crate::dashboard;
use crate::grpc::{self, CallMetrics, CountCalls, MessageSizes, MethodTimes, ServingLayer};
use crate::metrics::{self, ControllerMetrics, MetricsPages, QueueGauges};
use crate::service::Service;
use crate::settings::Settings;

pub(super) struct ListenerParts {
    pub(super) service: Service,
    pub(super) access: Access,
    pub(super) readiness: Readiness,
    pub(super) serving: ServingSignal,
    pub(super) pages: Arc<MetricsPages>,
    pub(super) gauges: QueueGauges,
    pub(super) calls: CallMetrics,
    pub(super) limits: LimitMetrics,
    pub(super) certificates: CertificateMetrics,
    pub(super) audit: AuditLog,
    pub(super) clock: Arc<dyn Clock>,
}

/// Binds both ports before either is served, so that a port conflict prevents a half-started controller.
pub(super) async fn open(
    settings: &Settings,
    parts: ListenerParts,
    tasks: &mut TaskSet,
) -> Result<Addresses, BoxError> {
    let http_options = settings.http.options(parts.limits.clone()).await?;
    let grpc_tls = settings.grpc.tls().await?;
    for (purpose, tls) in
        [(CertificatePurpose::HttpServer, &http_options.tls), (CertificatePurpose::GrpcServer, &grpc_tls)]
    {
        if let Some(tls) = tls {
            parts.certificates.server(purpose, tls);
        }
    }
    let http = listen("VMAFX_HTTP_ADDR", &settings.http_addr).await?;
    let grpc = listen("VMAFX_GRPC_LISTEN", &settings.grpc_listen).await?;
    let drain = settings.http_timeouts_shutdown.0.mul_f64(0.8);
    let address = |listener: &Option<TcpListener>| listener.as_ref().map(TcpListener::local_addr).transpose();
    let addresses = Addresses { grpc: address(&grpc)?, http: address(&http)? };

    if let Some(listener) = grpc {
        let limits = settings.grpc.connection_limits()?;
        let connections = incoming(listener, grpc_tls, limits, parts.limits.clone());
        add_grpc(settings, &parts, connections, drain, tasks).await?;
    }
    if let Some(listener) = http {
        let router = router(parts, settings);
        let shutdown = tasks.shutdown();
        let served = serve_with(listener, router, http_options, shutdown.clone());
        tasks.service("http", with_drain_timeout(served, "http", drain, shutdown));
    }
    Ok(addresses)
}

async fn add_grpc(
    settings: &Settings,
    parts: &ListenerParts,
    connections: impl futures::Stream<Item = vmafx_kit::serve::ServerConnection> + Send + 'static,
    drain: Duration,
    tasks: &mut TaskSet,
) -> Result<(), BoxError> {
    let sizes =
        MessageSizes { receive: settings.grpc.grpc_max_recv_size, send: settings.grpc.grpc_max_send_size };
    let (routes, health) = grpc::routes(&parts.service, sizes).await?;
    let shutdown = tasks.shutdown();
    tasks.service("grpc-health", grpc::report_health(health, parts.serving.clone(), shutdown.clone()));
    let certificates = if settings.grpc.grpc_client_certs_required {
        CertificatePolicy::Required
    } else {
        CertificatePolicy::Optional
    };
    let authorizer = CallAuthorizer::new(parts.access.authenticator.clone()).with_certificates(certificates);
    let layers = ServiceBuilder::new()
        .layer(CountCalls(parts.calls.clone()))
        .layer(GrpcAuditLayer(parts.audit.clone()))
        .layer(ServingLayer(parts.serving.clone()))
        .layer(GrpcAuthLayer::new(authorizer));
    let lifetimes = GrpcLifetimes {
        age: settings.grpc.connection_age(),
        serving: parts.serving.clone(),
        shutdown: shutdown.clone(),
    };
    let limits = call_limits(settings, parts.limits.clone())?;
    let serving = serve_grpc(connections, layers.service(routes.prepare()), lifetimes, limits);
    tasks.service("grpc", with_drain_timeout(serving, "grpc", drain, shutdown));
    Ok(())
}

fn call_limits(settings: &Settings, metrics: LimitMetrics) -> Result<GrpcLimits, SettingsError> {
    let times = MethodTimes {
        short: settings.grpc.max_call_time()?,
        pull_wait: settings.pull_wait.0,
        score_wait: settings.score_wait.0,
    };
    let max_message_bytes = settings.grpc.grpc_max_recv_size;
    settings.grpc.call_limits(move |path| grpc::method_limits(path, times, max_message_bytes), metrics)
}

/// Aborts the listener if clients keep their connections open: the store must be closed before the shutdown budget ends.
async fn with_drain_timeout<E: Into<BoxError>>(
    served: impl Future<Output = Result<(), E>>,
    name: &'static str,
    drain: Duration,
    shutdown: Shutdown,
) -> Result<(), BoxError> {
    let drain_timeout = async {
        shutdown.begun().await;
        tokio::time::sleep(drain).await;
    };
    tokio::select! {
        ended = served => ended.map_err(Into::into),
        () = drain_timeout => {
            tracing::warn!(listener = name, "closing connections that clients kept open during shutdown");
            Ok(())
        }
    }
}

fn router(parts: ListenerParts, settings: &Settings) -> Router {
    let ListenerParts { service, access, readiness, pages, gauges, audit, clock, .. } = parts;
    let controller_metrics = service.metrics().clone();
    let store = service.store().clone();
    let probes = health::router(readiness).layer(from_fn_with_state(controller_metrics.clone(), count_probe));
    let authenticator = access.authenticator;
    let dashboard = if settings.dashboard {
        let cookie = SessionCookie { secure: settings.http.http_tls };
        dashboard::router().merge(crate::http::session_router(authenticator.clone(), cookie))
    } else {
        Router::new()
    };
    let authorizer = CallAuthorizer::new(authenticator.clone()).with_cookies(settings.dashboard);
    probes
        .merge(metrics::router(pages, authenticator, gauges, controller_metrics, store, clock))
        .merge(crate::http::router(service, settings.http.body_limit()))
        .merge(dashboard)
        .layer(from_fn_with_state(authorizer, authorize_http))
        .layer(from_fn_with_state(audit, audit_http))
}

async fn count_probe(State(metrics): State<ControllerMetrics>, request: Request, next: Next) -> Response {
    match request.uri().path() {
        "/healthz" => metrics.health_requests.inc(),
        _ => metrics.ready_requests.inc(),
    };
    next.run(request).await
}
