//! From settings to a node that works.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use vmafx_kit::channel::GrpcChannel;
use vmafx_kit::health::{self, Readiness};
use vmafx_kit::metrics::{self, Label as _, Metrics};
use vmafx_kit::serve::{listen, serve};
use vmafx_kit::tasks::{BoxError, TaskSet};
use vmafx_proto::controller::v1::NodeCapability;

use crate::agent::{self, NodeMetrics, Patience, Scorer, Scoring, Who};
use crate::confine;
use crate::fetch::{Fetcher, StoreVariables};
use crate::launch::Launcher;
use crate::machine::{Machine, device};
use crate::models::{Credentials, Models};
use crate::scratch::Scratch;
use crate::settings::{NodeSettings, Settings};

/// Adds the agent and its health pages.
pub async fn start(settings: Settings, tasks: &mut TaskSet) -> Result<(), BoxError> {
    tracing::debug!(how = confine::keep_to_itself(), "credentials are kept from workers");
    let channel = settings.channel.open(&settings.controller_addr)?;
    let mut registry = Metrics::new(env!("CARGO_PKG_VERSION"));
    let readiness = Readiness::new(tasks.shutdown());
    let patience = Patience {
        heartbeat: settings.heartbeat_interval.0,
        pull: settings.pull_wait.0,
        call: settings.channel.controller_rpc_timeout.0,
        grace: settings.node.graceful_shutdown.0,
    };
    let launcher = Launcher::new(std::env::current_exe()?);
    add(tasks, &settings.node, &channel, patience, launcher, &mut registry, &readiness).await?;
    if let Some(listener) = listen("VMAFX_HTTP_ADDR", &settings.http_addr).await? {
        let router = pages(readiness).merge(metrics::router(Arc::new(registry)));
        tasks.support("http", |last| serve(listener, router, last));
    }
    Ok(())
}

/// Adds the agent alone, for a process that has other parts too.
pub async fn add(
    tasks: &mut TaskSet,
    settings: &NodeSettings,
    channel: &GrpcChannel,
    patience: Patience,
    launcher: Launcher,
    registry: &mut Metrics,
    readiness: &Readiness,
) -> Result<(), BoxError> {
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
    let models = Models::new(&settings.models, Credentials::of_process(), &fetcher)?;
    let metrics = NodeMetrics::new(registry, settings.backend, i64::from(settings.slots));
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
        launcher,
    };
    let registered = readiness.gate("controller", "has not registered this node");
    agent::run(tasks, channel, who, patience, scorer, &metrics, registered);
    Ok(())
}

/// `/healthz` and `/readyz`, and the names under which nodes are known to have them.
fn pages(readiness: Readiness) -> Router {
    health::router(readiness).route("/livez", get(async || "ok\n")).route("/startupz", get(async || "ok\n"))
}

fn host_name() -> Result<String, BoxError> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { Err("this host has no name: set VMAFX_NODE_ID".into()) } else { Ok(name) }
}
