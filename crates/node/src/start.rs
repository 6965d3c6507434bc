//! From settings to a node that works.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use vmafx_kit::channel::GrpcChannel;
use vmafx_kit::config::ListenAddr;
use vmafx_kit::health::{self, Readiness};
use vmafx_kit::metrics::{self, MetricLabel as _, Metrics};
use vmafx_kit::serve::{listen, serve};
use vmafx_kit::tasks::{BoxError, TaskSet};
use vmafx_proto::controller::v1::NodeCapability;

use crate::agent::{self, NodeMetrics, Patience, Scorer, Scoring, Who};
use crate::confine;
use crate::fetch::{Fetcher, StoreVariables};
use crate::launch::Launcher;
use crate::machine::{Machine, device};
use crate::models::{Models, RegistryCredentials};
use crate::scratch::Scratch;
use crate::settings::{NodeSettings, Settings};

/// How a node reaches its controller, and how it starts workers.
#[derive(Debug)]
pub struct Link {
    /// The connection.
    pub channel: GrpcChannel,
    /// How patient it is.
    pub patience: Patience,
    /// Starts workers.
    pub launcher: Launcher,
}

/// A node that works.
#[derive(Debug)]
pub struct Running {
    /// Ready once it is registered.
    pub readiness: Readiness,
    /// Where its health and metrics are.
    pub http: Option<SocketAddr>,
    /// Its device.
    pub device: String,
}

/// Adds the agent and its health pages.
pub async fn start(settings: Settings, tasks: &mut TaskSet) -> Result<(), BoxError> {
    let link = Link {
        channel: settings.channel.open(&settings.controller_addr)?,
        patience: Patience {
            heartbeat: settings.heartbeat_interval.0,
            pull: settings.pull_wait.0,
            call: settings.channel.controller_rpc_timeout.0,
            grace: settings.node.graceful_shutdown.0,
        },
        launcher: Launcher::new(std::env::current_exe()?),
    };
    run(&settings.node, link, &settings.http_addr, tasks).await.map(drop)
}

/// The same with a link of its own, for a process that is more than a node.
pub async fn run(
    settings: &NodeSettings,
    link: Link,
    http: &ListenAddr,
    tasks: &mut TaskSet,
) -> Result<Running, BoxError> {
    tracing::debug!(how = confine::keep_to_itself(), "credentials are kept from workers");
    if settings.backend != agent::Backend::Cpu && settings.vmaf_binary.is_none() {
        return Err(format!(
            "VMAFX_BACKEND={} needs an engine that can: set VMAFX_VMAF_BINARY to a vmaf program built for it",
            settings.backend.value()
        )
        .into());
    }
    let slots = u32::try_from(settings.slots)?;
    let vendor = device::Vendor::of_backend(settings.backend.value()).unwrap_or(device::Vendor::Cpu);
    let machine = Machine::of_this_process();
    let share = machine.share(slots);
    let who = Who {
        name: settings.node_id.clone().filter(|name| !name.is_empty()).map_or_else(host_name, Ok)?,
        capability: NodeCapability {
            gpu_vendor: vendor.name().to_owned(),
            backends: vec![settings.backend.value().to_owned()],
            concurrency: settings.slots,
            labels: settings.labels.0.clone().into_iter().collect(),
            device: device::detect(vendor).await,
        },
        resource: settings.resource.reference(),
    };
    tracing::info!(
        name = who.name,
        device = who.capability.device,
        cores = machine.cores,
        memory = machine.memory,
        slots,
        threads = share.threads,
        "this node"
    );
    let scratch = {
        let settings = settings.scratch.clone();
        tokio::task::spawn_blocking(move || Scratch::open(&settings)).await??
    };
    let fetcher = Fetcher::new(&settings.fetch, &StoreVariables::of_process(), scratch.clone())?;
    let models = Models::new(&settings.models, RegistryCredentials::of_process(), &fetcher)?;
    let mut registry = Metrics::new(env!("CARGO_PKG_VERSION"));
    let metrics = NodeMetrics::new(&mut registry, settings.backend, i64::from(settings.slots));
    let scorer = Scorer {
        scoring: Scoring {
            share,
            backend: settings.backend.value().to_owned(),
            ffmpeg: settings.ffmpeg_bin.clone(),
            engine: settings.vmaf_binary.clone(),
            stall: settings.worker_stall.0,
            deadline: Some(settings.worker_timeout.0).filter(|limit| !limit.is_zero()),
            cpu: settings.worker_cpu.0,
        },
        fetcher,
        models,
        scratch,
        launcher: link.launcher,
    };
    let readiness = Readiness::new(tasks.shutdown());
    let registered = readiness.gate("controller", "has not registered this node");
    let device = who.capability.device.clone();
    // Before the first job is pulled: a node that cannot be asked how it is does not begin.
    let listener = listen("VMAFX_HTTP_ADDR", http).await?;
    let http = listener.as_ref().map(TcpListener::local_addr).transpose()?;
    agent::run(tasks, &link.channel, who, link.patience, scorer, &metrics, registered);
    if let Some(listener) = listener {
        let router = pages(readiness.clone()).merge(metrics::router(Arc::new(registry)));
        tasks.support("http", |last| serve(listener, router, last));
    }
    Ok(Running { readiness, http, device })
}

/// `/healthz` and `/readyz`, and the names under which nodes are known to have them.
fn pages(readiness: Readiness) -> Router {
    health::router(readiness).route("/livez", get(async || "ok\n")).route("/startupz", get(async || "ok\n"))
}

fn host_name() -> Result<String, BoxError> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { Err("this host has no name: set VMAFX_NODE_ID".into()) } else { Ok(name) }
}
