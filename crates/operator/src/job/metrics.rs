use vmafx_api::job::Phase;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::{Counter, CounterBy, Gauge, LabelSet, Metrics};

closed_label! {
    pub enum JobEnd: "end" {
        Succeeded = "succeeded",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

closed_label! {
    pub enum SweepSkip: "reason" {
        Unreadable = "unreadable",
        Foreign = "foreign",
        Failed = "failed",
    }
}

#[derive(Clone, Debug)]
pub struct JobMetrics {
    pub(super) submitted: Counter,
    pub(super) ended: CounterBy<(JobEnd,)>,
    pub(super) swept: Counter,
    pub(super) sweeps: Counter,
    pub(super) live: Gauge,
    pub(super) cuts: Counter,
    pub(super) refreshed: Counter,
    pub(super) sweep_skipped: CounterBy<(SweepSkip,)>,
}

impl JobMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            submitted: metrics.counter("operator_jobs_submitted", "Submissions that the controller answered"),
            ended: metrics.counter_by("operator_jobs_ended", "VmafxJobs that got their final status, by how they ended"),
            swept: metrics.counter(
                "operator_jobs_swept",
                "Jobs of the controller that were cancelled because their VmafxJob was gone",
            ),
            sweeps: metrics.counter("operator_sweeps", "Searches for jobs whose VmafxJob is gone that came to their end"),
            live: metrics.gauge(
                "operator_controller_stream_live",
                "Whether the live stream of job changes is connected (1); if not, each job is polled every 10 s",
            ),
            refreshed: metrics.counter(
                "operator_jobs_refreshed",
                "Changes of jobs that were found by asking, because the live stream did not deliver them",
            ),
            sweep_skipped: metrics.counter_by(
                "operator_sweep_skipped",
                "Jobs of the controller that a sweep left alone although no VmafxJob wants them, by reason",
            ),
            cuts: metrics.counter("operator_controller_stream_cuts", "Disconnections of the live stream of job changes, and failed attempts to connect"),
        }
    }

    /// Counts a job that got its final status.
    pub(super) fn ended(&self, phase: Phase) {
        let end = match phase {
            Phase::Succeeded => JobEnd::Succeeded,
            Phase::Failed => JobEnd::Failed,
            Phase::Cancelled => JobEnd::Cancelled,
            Phase::Pending | Phase::Running => return,
        };
        self.ended.get_or_create(&LabelSet((end,))).inc();
    }
}
