//! What the controller counts.
//!
//! Counters of jobs move only when this process moved a job: a repeated report, a cancel of an ended job, a known
//! idempotency key count nothing. So the sum over all controllers of one store is the number of real events.

mod labels;
mod queue;

use std::sync::Arc;

use vmafx_kit::metrics::{
    Counter, CounterBy, Histogram, HistogramBy, JOB_SECONDS, LabelSet, Metrics, OpenLabelValue,
    OpenLabelValues, REQUEST_SECONDS, SCORE,
};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, TenantId};

pub use self::labels::{Model, Outcome, Profile, Requeued, Source, Tenant};
pub use self::queue::{QueueNumbers, router};

/// The controller's metrics. Clones count into the same.
#[derive(Clone)]
pub struct ControllerMetrics {
    tenants: Arc<OpenLabelValues<Tenant>>,
    models: Arc<OpenLabelValues<Model>>,
    submitted: CounterBy<(OpenLabelValue<Tenant>,)>,
    completed: CounterBy<(OpenLabelValue<Tenant>,)>,
    failed: CounterBy<(OpenLabelValue<Tenant>,)>,
    cancelled: CounterBy<(OpenLabelValue<Tenant>,)>,
    requeued: CounterBy<(Requeued,)>,
    queue_wait: HistogramBy<(OpenLabelValue<Tenant>,)>,
    duration: HistogramBy<(OpenLabelValue<Tenant>, Outcome)>,
    quality: HistogramBy<(OpenLabelValue<Tenant>, OpenLabelValue<Model>, Profile)>,
    /// Scores that somebody waited for.
    pub score_requests: Counter,
    /// Those that gave none.
    pub score_errors: Counter,
    /// How long they waited.
    pub score_duration: Histogram,
    /// Questions whether the process is alive.
    pub health_requests: Counter,
    /// Questions whether it is ready.
    pub ready_requests: Counter,
    /// Reads for metrics that failed.
    pub read_errors: CounterBy<(Source,)>,
    /// Rounds of the sweep that failed.
    pub sweep_errors: Counter,
    /// Rounds of the pruning that failed.
    pub prune_errors: Counter,
    /// Jobs removed because they were old or too many.
    pub pruned_jobs: Counter,
    /// The same of samples.
    pub pruned_samples: Counter,
}

impl ControllerMetrics {
    /// Adds them to the metrics of the process.
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            tenants: Arc::default(),
            models: Arc::default(),
            submitted: metrics.counter_by("controller_jobs_submitted", "Jobs taken"),
            completed: metrics.counter_by("controller_jobs_completed", "Jobs that have a score"),
            failed: metrics.counter_by("controller_jobs_failed", "Jobs that will never have a score"),
            cancelled: metrics.counter_by("controller_jobs_cancelled", "Jobs that were cancelled"),
            requeued: metrics
                .counter_by("controller_jobs_requeued", "Attempts that ended with the job waiting again"),
            queue_wait: metrics.histogram_by(
                "controller_job_queue_wait_seconds",
                "From submission to the first handing-out",
                JOB_SECONDS,
            ),
            duration: metrics.histogram_by(
                "controller_job_duration_seconds",
                "From the last handing-out to the end",
                JOB_SECONDS,
            ),
            quality: metrics.histogram_by("quality_score", "Scores", SCORE),
            score_requests: metrics.counter("server_score_requests", "Scores that a caller waited for"),
            score_errors: metrics.counter("server_score_errors", "Those that gave no score"),
            score_duration: metrics.histogram(
                "server_score_duration_seconds",
                "How long callers waited for a score",
                REQUEST_SECONDS,
            ),
            health_requests: metrics.counter("server_health_requests", "Questions whether it is alive"),
            ready_requests: metrics.counter("server_ready_requests", "Questions whether it is ready"),
            read_errors: metrics.counter_by("metrics_read_errors", "Reads for these metrics that failed"),
            sweep_errors: metrics.counter("controller_sweep_errors", "Sweeps that the store failed"),
            prune_errors: metrics.counter("controller_prune_errors", "Prunings that the store failed"),
            pruned_jobs: metrics.counter("controller_jobs_pruned", "Finished jobs removed by retention"),
            pruned_samples: metrics.counter("controller_samples_pruned", "Samples removed by retention"),
        }
    }

    /// The label of a tenant.
    pub fn tenant(&self, tenant: &TenantId) -> OpenLabelValue<Tenant> {
        self.tenants.get(tenant.as_str())
    }

    /// A job was stored. From here on its tenant's ends are counted from zero: a counter that appears with its first
    /// event never rose, and whoever watches for a rise misses that event.
    pub fn submitted(&self, tenant: &TenantId) {
        let tenant = LabelSet((self.tenant(tenant),));
        self.submitted.get_or_create(&tenant).inc();
        for end in [&self.completed, &self.failed, &self.cancelled] {
            drop(end.get_or_create(&tenant));
        }
    }

    /// A job was handed out.
    pub fn claimed(&self, job: &Job) {
        if job.attempt == 1
            && let Some(started_at) = job.started_at
        {
            let waited = started_at.since(job.created_at).as_secs_f64();
            self.queue_wait.get_or_create(&LabelSet((self.tenant(&job.tenant),))).observe(waited);
        }
    }

    /// An attempt ended and its job waits again.
    pub fn requeued(&self, reason: Requeued) {
        self.requeued.get_or_create(&LabelSet((reason,))).inc();
    }

    /// A job came to its end.
    pub fn ended(&self, job: &Job) {
        let tenant = self.tenant(&job.tenant);
        let (counter, outcome) = match job.state {
            State::Completed => (&self.completed, Outcome::Completed),
            State::Failed => (&self.failed, Outcome::Failed),
            State::Cancelled => (&self.cancelled, Outcome::Cancelled),
            State::Pending | State::Running => return,
        };
        counter.get_or_create(&LabelSet((tenant,))).inc();
        if let (Some(started_at), Some(finished_at)) = (job.started_at, job.finished_at) {
            let took = finished_at.since(started_at).as_secs_f64();
            self.duration.get_or_create(&LabelSet((tenant, outcome))).observe(took);
        }
        if let Some(success) = &job.result {
            let told = success.details.as_ref().map_or("", |details| details.model.as_str());
            let model = if told.is_empty() { job.scoring.model.as_deref().unwrap_or_default() } else { told };
            let labels = (tenant, self.models.get(model), Profile::of(model));
            self.quality.get_or_create(&LabelSet(labels)).observe(success.score);
        }
    }
}
