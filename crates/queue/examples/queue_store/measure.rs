//! Loads for a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::bail;
use tokio::task::JoinSet;
use vmafx_job::ScoreResult;
use vmafx_job::ScoringRequest;
use vmafx_job::TenantLimits;
use vmafx_queue::node::{Capability, Credentials, Heartbeat, NewNode, Report};
use vmafx_queue::store::{Claim, Reported};
use vmafx_queue::{JobId, NewJob, Store, TenantId};

/// A store with one tenant and one node for each concurrent call.
pub(crate) struct Bench {
    store: Arc<dyn Store>,
    tenant: TenantId,
    nodes: Vec<Credentials>,
}

/// A job of a typical size.
pub(crate) fn job(backend: &str) -> NewJob {
    NewJob {
        scoring: ScoringRequest {
            reference: "s3://media/reference/big-buck-bunny-1080p.y4m".into(),
            distorted: "s3://media/encodes/big-buck-bunny-1080p-crf28.mp4".into(),
            model: Some("vmaf_v0.6.1".into()),
            backend: backend.parse().ok(),
            ..ScoringRequest::default()
        },
        ..NewJob::default()
    }
}

/// A node that serves `cpu`.
pub(crate) fn node(number: usize) -> NewNode {
    let capability = Capability { backends: vec!["cpu".into()], slots: 1, ..Capability::default() };
    NewNode { name: format!("node-{number}"), capability, resource: None }
}

fn result() -> ScoreResult {
    let names = ["adm2", "motion2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3"];
    let features = names.into_iter().map(|name| (name.to_owned(), 0.123_456_789)).collect();
    ScoreResult { score: 93.25, features, details: None }
}

impl Bench {
    pub(crate) async fn new(store: Arc<dyn Store>, in_flight: usize) -> anyhow::Result<Self> {
        let tenant = TenantId::new("bench")?;
        let mut nodes = Vec::new();
        for number in 0..in_flight {
            nodes.push(store.register(&tenant, node(number), &TenantLimits::default()).await?);
        }
        Ok(Self { store, tenant, nodes })
    }

    /// Submissions per second, one job per call.
    pub(crate) async fn submit(&self, count: usize, backend: &'static str) -> anyhow::Result<f64> {
        let new = job(backend);
        self.load(count, move |store, tenant, _| {
            let new = new.clone();
            async move { Ok(store.submit(&tenant, new, &TenantLimits::default()).await.map(|_| ())?) }
        })
        .await
    }

    /// Jobs that are claimed and reported, per second.
    pub(crate) async fn cycle(&self, count: usize) -> anyhow::Result<f64> {
        self.load(count, |store, tenant, node| async move { cycle(&*store, &tenant, &node).await.map(drop) })
            .await
    }

    pub(crate) async fn heartbeats(&self, count: usize) -> anyhow::Result<f64> {
        self.load(count, |store, tenant, node| async move {
            match store.heartbeat(&tenant, &node, Heartbeat::default()).await? {
                Some(_) => Ok(()),
                None => bail!("a session was lost"),
            }
        })
        .await
    }

    /// Microseconds from a submission to the report of the same job, measured sequentially.
    pub(crate) async fn claim_latency(&self, count: usize) -> anyhow::Result<f64> {
        let node = &self.nodes[0];
        let begin = Instant::now();
        for _ in 0..count {
            self.store.submit(&self.tenant, job("cpu"), &TenantLimits::default()).await?;
            cycle(&*self.store, &self.tenant, node).await?;
        }
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let count = count as f64;
        Ok(begin.elapsed().as_secs_f64() * 1e6 / count)
    }

    async fn load<F, W>(&self, count: usize, work: W) -> anyhow::Result<f64>
    where
        W: Fn(Arc<dyn Store>, TenantId, Credentials) -> F + Clone + Send + 'static,
        F: Future<Output = anyhow::Result<()>> + Send,
    {
        let taken = Arc::new(AtomicUsize::new(0));
        let begin = Instant::now();
        let mut callers = JoinSet::new();
        for node in self.nodes.clone() {
            let (store, tenant) = (self.store.clone(), self.tenant.clone());
            let (taken, work) = (taken.clone(), work.clone());
            callers.spawn(async move {
                while taken.fetch_add(1, Ordering::Relaxed) < count {
                    work(store.clone(), tenant.clone(), node.clone()).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(ended) = callers.join_next().await {
            ended??;
        }
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let count = count as f64;
        Ok(count / begin.elapsed().as_secs_f64())
    }
}

/// Claims a job and reports it.
pub(crate) async fn cycle(store: &dyn Store, tenant: &TenantId, node: &Credentials) -> anyhow::Result<JobId> {
    let Claim::Job(job) =
        store.claim(tenant, node, &["cpu".to_owned()], None, &TenantLimits::default()).await?
    else {
        bail!("no job")
    };
    let report = Report { job: job.id, attempt: Some(job.attempt), result: Ok(result()) };
    match store.report(tenant, node, report).await? {
        Reported::Moved { job, .. } => Ok(job.id),
        other => bail!("not moved: {other:?}"),
    }
}

/// Resident memory of this process.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}
