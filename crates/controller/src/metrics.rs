//! The metrics of the controller.
//!
//! A counter of jobs increases only when this process changed a job: a repeated report, the cancellation of a finished
//! job and a known idempotency key count nothing. So the sum over all controllers of one store is the number of events.
//!
//! What names tenants is kept twice, with and without the names: `metrics/pages.rs`.

mod labels;
mod pages;
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
pub use self::pages::{MetricsPages, MetricsView};
pub use self::queue::{QueueGauges, router};

/// Clones share their counters.
#[derive(Clone)]
pub struct ControllerMetrics {
    tenants: Arc<OpenLabelValues<TenantLabel>>,
    models: Arc<OpenLabelValues<ModelLabel>>,
    of_tenants: JobMetrics,
    /// The same without names of tenants.
    totals: JobMetrics,
    requeued: CounterBy<(RequeueReason,)>,
    limits_reached: CounterBy<(LimitLabel,)>,
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

/// Jobs by tenant.
#[derive(Clone)]
struct JobMetrics {
    submitted: CounterBy<(OpenLabelValue<TenantLabel>,)>,
    completed: CounterBy<(OpenLabelValue<TenantLabel>,)>,
    failed: CounterBy<(OpenLabelValue<TenantLabel>,)>,
    cancelled: CounterBy<(OpenLabelValue<TenantLabel>,)>,
    queue_wait: HistogramBy<(OpenLabelValue<TenantLabel>,)>,
    duration: HistogramBy<(OpenLabelValue<TenantLabel>, JobOutcome)>,
    quality: HistogramBy<(OpenLabelValue<TenantLabel>, OpenLabelValue<ModelLabel>, ModelProfile)>,
}

impl JobMetrics {
    fn new(metrics: &mut Metrics) -> Self {
        Self {
            submitted: metrics.counter_by("controller_jobs_submitted", "Jobs accepted"),
            completed: metrics.counter_by("controller_jobs_completed", "Jobs that completed with a score"),
            failed: metrics.counter_by("controller_jobs_failed", "Jobs that failed for good"),
            cancelled: metrics.counter_by("controller_jobs_cancelled", "Jobs that were cancelled"),
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
        }
    }

    /// Creates the counters at zero: `rate` and `increase` miss the first event of a counter that appears with the value
    /// 1.
    fn create(&self, tenant: OpenLabelValue<TenantLabel>) {
        for counter in [&self.submitted, &self.completed, &self.failed, &self.cancelled] {
            drop(counter.get_or_create(&LabelSet((tenant,))));
        }
    }

    fn ended(&self, tenant: OpenLabelValue<TenantLabel>, model: OpenLabelValue<ModelLabel>, job: &Job) {
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
            let labels = LabelSet((tenant, model, ModelProfile::of(model_of(job))));
            self.quality.get_or_create(&labels).observe(success.score);
        }
    }
}

impl ControllerMetrics {
    pub fn new(pages: &mut MetricsPages) -> Self {
        let of_tenants = JobMetrics::new(&mut pages.of_tenants);
        let totals = JobMetrics::new(&mut pages.totals);
        totals.create(OpenLabelValue::none());
        let metrics = &mut pages.common;
        Self {
            tenants: Arc::default(),
            models: Arc::default(),
            of_tenants,
            totals,
            requeued: metrics
                .counter_by("controller_jobs_requeued", "Attempts after which the job was requeued"),
            limits_reached: metrics.counter_by(
                "controller_tenant_limits_reached",
                "Calls that were refused because a tenant or a caller holds as much as it may",
            ),
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

    /// Both sets of metrics, each with its label of this tenant.
    fn of(&self, tenant: &TenantId) -> [(&JobMetrics, OpenLabelValue<TenantLabel>); 2] {
        [(&self.of_tenants, self.tenant(tenant)), (&self.totals, OpenLabelValue::none())]
    }

    pub fn submitted(&self, tenant: &TenantId) {
        for (metrics, tenant) in self.of(tenant) {
            metrics.create(tenant);
            metrics.submitted.get_or_create(&LabelSet((tenant,))).inc();
        }
    }

    pub fn claimed(&self, job: &Job) {
        if job.attempt == 1
            && let Some(started_at) = job.started_at
        {
            let waited = started_at.since(job.created_at).as_secs_f64();
            for (metrics, tenant) in self.of(&job.tenant) {
                metrics.queue_wait.get_or_create(&LabelSet((tenant,))).observe(waited);
            }
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
        let model = model_of(job);
        let [(of_tenants, tenant), (totals, none)] = self.of(&job.tenant);
        of_tenants.ended(tenant, self.models.get(model), job);
        // A path or an address may contain the name of its tenant.
        totals.ended(none, self.models.get(if model.contains('/') { "other" } else { model }), job);
    }
}

/// The model that the node reported, else the requested one.
fn model_of(job: &Job) -> &str {
    let reported = job.result.as_ref().and_then(|success| success.details.as_ref());
    let reported = reported.map_or("", |details| details.model.as_str());
    if reported.is_empty() { job.scoring.model.as_deref().unwrap_or_default() } else { reported }
}
