//! Runs everything about jobs while this operator is the leader.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio::task::JoinSet;
use vmafx_kit::channel::GrpcChannel;
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::controller_client::ControllerClient;
use super::in_pod::PodJobs;
use super::job_stream::JobStreamReader;
use super::metrics::JobMetrics;
use super::refresh::JobRefresher;
use super::scope::JobScopes;
use super::sweep::Sweeper;
use super::tracked::TrackedJobs;
use super::{CachedJob, JobReconciler};
use crate::cluster;
use crate::events::EventRecorder;
use crate::lease::Installation;
use crate::runtime::{Cache, Cached as _, Controller, Notifier, RuntimeMetrics};

/// How long the first reconcile waits for the live stream: once it is connected, fewer jobs have to be polled.
const STREAM_CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct Jobs {
    pub client: Client,
    pub cache: Cache<CachedJob>,
    pub notifier: Notifier,
    pub pods: PodJobs,
    /// The connection to the controller.
    pub channel: GrpcChannel,
    /// The name under which the controller knows this cluster; empty if it was given none.
    pub cluster: String,
    /// Whether the controller has a tenant for each namespace.
    pub tenant_per_namespace: bool,
    pub installation: Installation,
    pub recorder: EventRecorder,
    /// The number of concurrent reconciles.
    pub at_once: usize,
    pub metrics: JobMetrics,
    pub runtime: RuntimeMetrics,
}

impl Jobs {
    /// Reads the stream, sweeps and reconciles until shutdown.
    pub async fn lead(self, shutdown: Shutdown) -> Result<(), BoxError> {
        let Some(cluster) = shutdown.run_until_begun(cluster::name(&self.client, &self.cluster)).await else {
            return Ok(());
        };
        let controller = ControllerClient::new(self.channel.clone(), cluster, self.installation.get());
        let scopes = JobScopes::new(controller, self.tenant_per_namespace);
        let tracked = TrackedJobs::default();
        let streams = self.clone().read_streams(scopes.clone(), shutdown.clone());
        let sweeper = Sweeper {
            tracked: tracked.clone(),
            scopes: scopes.clone(),
            client: self.client.clone(),
            jobs: self.cache.clone(),
            metrics: self.metrics.clone(),
        };
        let reconciling = {
            let shutdown = shutdown.clone();
            async move {
                let connected = tokio::time::timeout(STREAM_CONNECT_TIMEOUT, self.open_scopes(&scopes));
                if shutdown.run_until_begun(connected).await.is_none() {
                    return Ok(());
                }
                // Subscribed before the first list, so that no change in between is missed.
                let inbox = self.notifier.subscribe();
                let first: Vec<_> = self.cache.all().iter().map(|job| job.key()).collect();
                let reconciler = Arc::new(JobReconciler {
                    client: self.client,
                    jobs: self.cache,
                    pods: self.pods,
                    scopes,
                    tracked,
                    started: Timestamp::now(),
                    recorder: self.recorder,
                    metrics: self.metrics,
                });
                Controller::new(reconciler, self.at_once, inbox, self.runtime).run(first, shutdown).await
            }
        };
        let forever = async { tokio::try_join!(reconciling, sweeper.run(shutdown)).map_err(BoxError::from) };
        tokio::try_join!(forever, streams)?;
        Ok(())
    }

    /// Opens the scopes of all open resources, and waits until their streams are connected.
    async fn open_scopes(&self, scopes: &JobScopes) {
        if !scopes.is_per_namespace() {
            scopes.open("");
        }
        for job in self.cache.all().iter().filter(|job| job.open().is_some()) {
            scopes.open(&job.key().namespace);
        }
        let open = scopes.all_open();
        futures::future::join_all(open.iter().map(|scope| scope.cache.wait_until_live())).await;
    }

    /// Reads the stream of each scope from when it is opened until shutdown.
    async fn read_streams(self, scopes: JobScopes, shutdown: Shutdown) -> Result<(), BoxError> {
        let mut running = JoinSet::new();
        let until_shutdown = async {
            loop {
                tokio::select! {
                    scope = scopes.next_opened() => {
                        let stream = JobStreamReader {
                            scope: scope.clone(),
                            scopes: scopes.clone(),
                            jobs: self.cache.clone(),
                            notifier: self.notifier.clone(),
                            metrics: self.metrics.clone(),
                        };
                        let refresher = JobRefresher {
                            scope,
                            jobs: self.cache.clone(),
                            notifier: self.notifier.clone(),
                            metrics: self.metrics.clone(),
                        };
                        running.spawn(stream.run(shutdown.clone()));
                        running.spawn(refresher.run(shutdown.clone()));
                    }
                    // They end by themselves only if they panic.
                    Some(Err(panic)) = running.join_next() => return panic,
                }
            }
        };
        if let Some(panic) = shutdown.run_until_begun(until_shutdown).await {
            return Err(panic.into());
        }
        while let Some(ended) = running.join_next().await {
            ended?.unwrap_or_else(|never| match never {});
        }
        Ok(())
    }
}
