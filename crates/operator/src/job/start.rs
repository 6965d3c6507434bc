//! Everything about jobs, while this operator leads.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use vmafx_kit::channel::GrpcChannel;
use vmafx_kit::tasks::{BoxError, Shutdown};

use super::follow::Follower;
use super::link::Link;
use super::memory::Memory;
use super::metrics::JobMetrics;
use super::mirror::Mirror;
use super::pod::PodJobs;
use super::sweep::Sweeper;
use super::{JobReconciler, Seen};
use crate::cluster;
use crate::events::EventRecorder;
use crate::runtime::{Cache, Cached as _, Controller, Notifier, RuntimeMetrics};

/// For the stream: with it, jobs that are heard of need not be asked for.
const HEAD_START: Duration = Duration::from_secs(2);

/// What the work on jobs needs.
#[derive(Clone)]
pub struct Jobs {
    /// The way to the API server.
    pub client: Client,
    /// What is known of the resources.
    pub cache: Cache<Seen>,
    /// Tells which of them to look at.
    pub notifier: Notifier,
    /// Those that have a Pod of their own.
    pub pods: PodJobs,
    /// The way to the controller.
    pub channel: GrpcChannel,
    /// What the controller calls this cluster; empty if nobody gave it a name.
    pub cluster: String,
    /// Tells people.
    pub recorder: EventRecorder,
    /// Reconciles at a time.
    pub at_once: usize,
    /// What is counted about jobs.
    pub metrics: JobMetrics,
    /// What is counted about reconciles.
    pub runtime: RuntimeMetrics,
}

impl Jobs {
    /// Follows, sweeps and reconciles until shutdown.
    pub async fn lead(self, shutdown: Shutdown) -> Result<(), BoxError> {
        let Some(cluster) = shutdown.run_until_begun(cluster::name(&self.client, &self.cluster)).await else {
            return Ok(());
        };
        let (link, mirror) = (Link::new(self.channel.clone(), cluster), Mirror::default());
        let follower = Follower {
            link: link.clone(),
            mirror: mirror.clone(),
            jobs: self.cache.clone(),
            notifier: self.notifier.clone(),
            metrics: self.metrics.clone(),
        };
        let sweeper = Sweeper {
            link: link.clone(),
            client: self.client.clone(),
            jobs: self.cache.clone(),
            metrics: self.metrics.clone(),
        };
        let reconciling = {
            let (mirror, shutdown) = (mirror.clone(), shutdown.clone());
            async move {
                let head_start = tokio::time::timeout(HEAD_START, mirror.heard());
                if shutdown.run_until_begun(head_start).await.is_none() {
                    return Ok(());
                }
                // First the ear, then the look: what changes in between is heard.
                let inbox = self.notifier.subscribe();
                let first: Vec<_> = self.cache.all().iter().map(|job| job.key()).collect();
                let reconciler = Arc::new(JobReconciler {
                    client: self.client,
                    jobs: self.cache,
                    pods: self.pods,
                    link,
                    mirror,
                    memory: Memory::default(),
                    recorder: self.recorder,
                    metrics: self.metrics,
                });
                Controller::new(reconciler, self.at_once, inbox, self.runtime).run(first, shutdown).await
            }
        };
        tokio::try_join!(reconciling, follower.run(shutdown.clone()), sweeper.run(shutdown))?;
        Ok(())
    }
}
