//! The metrics of the controller.
//!
//! A counter of jobs increases only when this process changed a job: a repeated report, the cancellation of a finished
//! job and a known idempotency key count nothing. So the sum over all controllers of one store is the number of events.

mod labels;
mod queue;

use std::sync::Arc;

use vmafx_kit::metrics::{
    Counter, CounterBy, Histogram, HistogramBy, JOB_SECONDS, LabelSet, Metrics, OpenLabelValue,
    OpenLabelValues, REQUEST_SECONDS, SCORE,
};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, TenantId};

use crate::refusal::Refusal;

pub use self::labels::{
    JobOutcome, LimitLabel, ModelLabel, ModelProfile, ReadSource, RequeueReason, TenantLabel,
};
pub use self::queue::{QueueGauges, router};

/// Clones share their counters.
#[derive(Clone)]
pub struct ControllerMetrics {
    tenants: Arc<OpenLabelValues<TenantLabel>>,
    models: Arc<OpenLabelValues<ModelLabel>>,
    submitted: CounterBy<(OpenLabelValue<TenantLabel>,)>,
    completed: CounterBy<(OpenLabelValue<TenantLabel>,)>,
    failed: CounterBy<(OpenLabelValue<TenantLabel>,)>,
    cancelled: CounterBy<(OpenLabelValue<TenantLabel>,)>,
    requeued: CounterBy<(RequeueReason,)>,
    limits_reached: CounterBy<(LimitLabel,)>,
    queue_wait: HistogramBy<(OpenLabelValue<TenantLabel>,)>,
    duration: HistogramBy<(OpenLabelValue<TenantLabel>, JobOutcome)>,
    quality: HistogramBy<(OpenLabelValue<TenantLabel>, OpenLabelValue<ModelLabel>, ModelProfile)>,
    pub score_requests: Counter,
    pub score_errors: Counter,
    pub score_duration: Histogram,
    pub health_requests: Counter,
    pub ready_requests: Counter,
    pub read_errors: CounterBy<(ReadSource,)>,
    pub sweep_errors: Counter,
    pub prune_errors: Counter,
    pub pruned_jobs: Counter,
    pub pruned_samples: Counter,
}

impl ControllerMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            tenants: Arc::default(),
            models: Arc::default(),
            submitted: metrics.counter_by("controller_jobs_submitted", "Jobs accepted"),
            completed: metrics.counter_by("controller_jobs_completed", "Jobs that completed with a score"),
            failed: metrics.counter_by("controller_jobs_failed", "Jobs that failed for good"),
            cancelled: metrics.counter_by("controller_jobs_cancelled", "Jobs that were cancelled"),
            requeued: metrics
                .counter_by("controller_jobs_requeued", "Attempts after which the job was requeued"),
            limits_reached: metrics.counter_by(
                "controller_tenant_limits_reached",
                "Calls that were refused because a tenant or a caller holds as much as it may",
            ),
            queue_wait: metrics.histogram_by(
                "controller_job_queue_wait_seconds",
                "Time from submission to the first assignment",
                JOB_SECONDS,
            ),
            duration: metrics.histogram_by(
                "controller_job_duration_seconds",
                "Time from the last assignment to the end of the job",
                JOB_SECONDS,
            ),
            quality: metrics.histogram_by("quality_score", "Scores of completed jobs", SCORE),
            score_requests: metrics.counter("server_score_requests", "Synchronous score requests"),
            score_errors: metrics
                .counter("server_score_errors", "Synchronous score requests without a score"),
            score_duration: metrics.histogram(
                "server_score_duration_seconds",
                "Duration of synchronous score requests",
                REQUEST_SECONDS,
            ),
            health_requests: metrics.counter("server_health_requests", "Liveness probes"),
            ready_requests: metrics.counter("server_ready_requests", "Readiness probes"),
            read_errors: metrics.counter_by("metrics_read_errors", "Failed reads of the store for metrics"),
            sweep_errors: metrics.counter("controller_sweep_errors", "Failed sweeps"),
            prune_errors: metrics.counter("controller_prune_errors", "Failed prunings"),
            pruned_jobs: metrics.counter("controller_jobs_pruned", "Finished jobs deleted by retention"),
            pruned_samples: metrics.counter("controller_samples_pruned", "Samples deleted by retention"),
        }
    }

    pub fn tenant(&self, tenant: &TenantId) -> OpenLabelValue<TenantLabel> {
        self.tenants.get(tenant.as_str())
    }

    /// Also creates the other counters of the tenant at zero: `rate` and `increase` miss the first event of a counter that
    /// appears with the value 1.
    pub fn submitted(&self, tenant: &TenantId) {
        let tenant = LabelSet((self.tenant(tenant),));
        self.submitted.get_or_create(&tenant).inc();
        for counter in [&self.completed, &self.failed, &self.cancelled] {
            drop(counter.get_or_create(&tenant));
        }
    }

    pub fn claimed(&self, job: &Job) {
        if job.attempt == 1
            && let Some(started_at) = job.started_at
        {
            let waited = started_at.since(job.created_at).as_secs_f64();
            self.queue_wait.get_or_create(&LabelSet((self.tenant(&job.tenant),))).observe(waited);
        }
    }

    pub fn requeued(&self, reason: RequeueReason) {
        self.requeued.get_or_create(&LabelSet((reason,))).inc();
    }

    /// Counts a refusal by a limit, and returns it.
    pub fn refused(&self, refusal: Refusal) -> Refusal {
        if let Refusal::LimitReached { limit, .. } = &refusal {
            self.limits_reached.get_or_create(&LabelSet((LimitLabel::from(*limit),))).inc();
        }
        refusal
    }

    pub fn ended(&self, job: &Job) {
        let tenant = self.tenant(&job.tenant);
        let (counter, outcome) = match job.state {
            State::Completed => (&self.completed, JobOutcome::Completed),
            State::Failed => (&self.failed, JobOutcome::Failed),
            State::Cancelled => (&self.cancelled, JobOutcome::Cancelled),
            State::Pending | State::Running => return,
        };
        counter.get_or_create(&LabelSet((tenant,))).inc();
        if let (Some(started_at), Some(finished_at)) = (job.started_at, job.finished_at) {
            let took = finished_at.since(started_at).as_secs_f64();
            self.duration.get_or_create(&LabelSet((tenant, outcome))).observe(took);
        }
        if let Some(success) = &job.result {
            let reported = success.details.as_ref().map_or("", |details| details.model.as_str());
            let model =
                if reported.is_empty() { job.scoring.model.as_deref().unwrap_or_default() } else { reported };
            let labels = (tenant, self.models.get(model), ModelProfile::of(model));
            self.quality.get_or_create(&LabelSet(labels)).observe(success.score);
        }
    }
}
