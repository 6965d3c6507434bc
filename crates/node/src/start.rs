//! Starts a node from its settings.

mod confinement;
mod kernels;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use vmafx_job::Failure;
use vmafx_kit::channel::GrpcChannel;
use vmafx_kit::config::ListenAddr;
use vmafx_kit::health::{self, Readiness};
use vmafx_kit::metrics::{self, Metrics};
use vmafx_kit::serve::{listen, serve};
use vmafx_kit::tasks::{BoxError, TaskSet};
use vmafx_kit::tls::CertificateMetrics;
use vmafx_proto::controller::v1::NodeCapability;
use vmafx_scoring::engine::Engine;

use crate::agent::{self, AgentTimeouts, NodeIdentity, NodeMetrics, Outbox};
use crate::confine::{self, ConfinementPolicy};
use crate::launch::Launcher;
use crate::machine::{Machine, device};
use crate::scorer::{JobLimits, Scorer};
use crate::settings::{NodeSettings, Settings};

pub use self::kernels::KernelGuard;

/// How a node reaches its controller and starts its workers.
#[derive(Debug)]
pub struct AgentConfig {
    pub channel: GrpcChannel,
    pub timeouts: AgentTimeouts,
    pub launcher: Launcher,
}

#[derive(Debug)]
pub struct RunningNode {
    /// Ready while the node is registered and its scratch volume has room.
    pub readiness: Readiness,
    /// Address of the health and metrics pages.
    pub http: Option<SocketAddr>,
    /// Name of the device that the node computes with.
    pub device: String,
    /// Why this machine must not score; the node pulls no jobs then.
    pub refused: Option<Failure>,
}

/// Adds the agent and its health pages to the tasks of a process.
pub async fn start(settings: Settings, tasks: &mut TaskSet) -> Result<(), BoxError> {
    let config = AgentConfig {
        channel: settings.channel.open(&settings.controller_addr)?,
        timeouts: AgentTimeouts {
            heartbeat_interval: settings.heartbeat_interval.0,
            pull_wait: settings.pull_wait.0,
            call: settings.channel.controller_rpc_timeout.0,
            shutdown_grace: settings.node.graceful_shutdown.0,
        },
        launcher: Launcher::new(std::env::current_exe()?),
    };
    run(&settings.node, config, &settings.http_addr, tasks).await.map(drop)
}

/// The same for a process that is more than a node, such as `vmafx up`.
pub async fn run(
    settings: &NodeSettings,
    config: AgentConfig,
    http: &ListenAddr,
    tasks: &mut TaskSet,
) -> Result<RunningNode, BoxError> {
    tracing::debug!(measure = confine::keep_to_itself(), "credentials are kept from workers");
    let slots = u32::try_from(settings.slots)?;
    let machine = Machine::of_this_process();
    let limits = JobLimits {
        share: machine.share(slots),
        stall_timeout: settings.worker_stall.0,
        deadline: settings.scorer.job_deadline(),
    };
    let backend = settings.scorer.backend;
    let opened = {
        let (settings, outbox) = (settings.scorer.clone(), settings.outbox_directory());
        let launcher = config.launcher;
        let open = move || -> Result<_, BoxError> {
            Ok((Scorer::open(&settings, limits, launcher)?, Outbox::open(&outbox)?))
        };
        tokio::task::spawn_blocking(open).await??
    };
    let readiness = Readiness::new(tasks.shutdown());
    let confinement = confinement::probe(&opened.0, &readiness).await?;
    let kernels = KernelGuard::new(&readiness);
    if matches!(Engine::from(settings.scorer.engine), Engine::Native(_)) {
        kernels.check().await?;
    } else {
        kernels.not_used();
    }
    let mut labels = settings.labels.0.clone();
    labels.extend(confinement.as_ref().ok().and_then(ConfinementPolicy::label));
    let vendor = device::Vendor::of_backend(backend);
    let identity = NodeIdentity {
        name: settings.node_id.clone().filter(|name| !name.is_empty()).map_or_else(host_name, Ok)?,
        capability: NodeCapability {
            gpu_vendor: vendor.name().to_owned(),
            backends: vec![backend.name().to_owned()],
            concurrency: settings.slots,
            labels: labels.into_iter().collect(),
            device: device::detect(vendor).await,
        },
        resource: settings.resource.reference(),
        serves: settings.serves.0.clone(),
    };
    tracing::info!(
        name = identity.name,
        device = identity.capability.device,
        cores = machine.cores,
        memory = machine.memory,
        slots,
        threads = limits.share.threads,
        "this node"
    );
    let mut registry = Metrics::new(env!("CARGO_PKG_VERSION"));
    let metrics = NodeMetrics::new(&mut registry, backend, i64::from(settings.slots));
    CertificateMetrics::new(&mut registry).channel(&config.channel);
    let registered = readiness.gate("controller", "has not registered this node");
    let room = readiness.gate("scratch", "not checked yet");
    room.open();
    tasks.service("scratch", opened.0.scratch().clone().watch_room(room, tasks.shutdown()));
    let device = identity.capability.device.clone();
    // Before the first job is pulled: a node whose health nobody can check must not start.
    let listener = listen("VMAFX_HTTP_ADDR", http).await?;
    let http = listener.as_ref().map(TcpListener::local_addr).transpose()?;
    if confinement.is_ok() {
        let node = (identity, kernels);
        agent::run(tasks, &config.channel, node, config.timeouts, opened, &metrics, registered);
    } else {
        confinement::wait_for_shutdown(tasks);
    }
    if let Some(listener) = listener {
        let router = pages(readiness.clone()).merge(metrics::router(Arc::new(registry)));
        tasks.support("http", |last| serve(listener, router, last));
    }
    Ok(RunningNode { readiness, http, device, refused: confinement.err() })
}

/// `/healthz` and `/readyz`, and `/livez` and `/startupz`, which the operator's Pods are probed by.
fn pages(readiness: Readiness) -> Router {
    health::router(readiness).route("/livez", get(async || "ok\n")).route("/startupz", get(async || "ok\n"))
}

fn host_name() -> Result<String, BoxError> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { Err("this host has no name: set VMAFX_NODE_ID".into()) } else { Ok(name) }
}
