//! Runs everything about jobs while this operator is the leader.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use vmafx_kit::channel::GrpcChannel;
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::controller_cache::ControllerJobCache;
use super::controller_client::ControllerClient;
use super::in_pod::PodJobs;
use super::job_stream::JobStreamReader;
use super::metrics::JobMetrics;
use super::refresh::JobRefresher;
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
        let (cache, tracked) = (ControllerJobCache::default(), TrackedJobs::default());
        let stream = JobStreamReader {
            controller: controller.clone(),
            cache: cache.clone(),
            jobs: self.cache.clone(),
            notifier: self.notifier.clone(),
            metrics: self.metrics.clone(),
        };
        let refresher = JobRefresher {
            controller: controller.clone(),
            cache: cache.clone(),
            jobs: self.cache.clone(),
            notifier: self.notifier.clone(),
            metrics: self.metrics.clone(),
        };
        let sweeper = Sweeper {
            tracked: tracked.clone(),
            controller: controller.clone(),
            client: self.client.clone(),
            jobs: self.cache.clone(),
            metrics: self.metrics.clone(),
        };
        let reconciling = {
            let shutdown = shutdown.clone();
            async move {
                let connected = tokio::time::timeout(STREAM_CONNECT_TIMEOUT, cache.wait_until_live());
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
                    controller,
                    cache,
                    tracked,
                    started: Timestamp::now(),
                    recorder: self.recorder,
                    metrics: self.metrics,
                });
                Controller::new(reconciler, self.at_once, inbox, self.runtime).run(first, shutdown).await
            }
        };
        tokio::try_join!(
            reconciling,
            stream.run(shutdown.clone()),
            refresher.run(shutdown.clone()),
            sweeper.run(shutdown)
        )?;
        Ok(())
    }
}
