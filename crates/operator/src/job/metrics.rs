//! What is counted about jobs.

use vmafx_api::job::Phase;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::{Counter, CounterBy, Gauge, LabelSet, Metrics};

closed_label! {
    /// What a job came to.
    pub enum End: "end" {
        /// It has a score.
        Succeeded = "succeeded",
        /// It has none.
        Failed = "failed",
        /// It was given up.
        Cancelled = "cancelled",
    }
}

/// The metrics of jobs.
#[derive(Clone, Debug)]
pub struct JobMetrics {
    pub(super) submitted: Counter,
    pub(super) ended: CounterBy<(End,)>,
    pub(super) swept: Counter,
    pub(super) live: Gauge,
    pub(super) cuts: Counter,
}

impl JobMetrics {
    /// Makes them.
    pub fn new(metrics: &mut Metrics) -> Self {
        Self {
            submitted: metrics.counter("operator_jobs_submitted", "Submissions that the controller answered"),
            ended: metrics.counter_by("operator_jobs_ended", "VmafxJobs that got their last status, by what they came to"),
            swept: metrics.counter(
                "operator_jobs_swept",
                "Jobs of the controller that were ended because their VmafxJob was gone",
            ),
            live: metrics.gauge(
                "operator_controller_stream_live",
                "Whether changes of jobs are heard as they happen (1); if not, each job is asked for every 10 s",
            ),
            cuts: metrics.counter("operator_controller_stream_cuts", "Ends of the stream of changes, or no stream at all"),
        }
    }

    /// A job got its last status.
    pub(super) fn ended(&self, phase: Phase) {
        let end = match phase {
            Phase::Succeeded => End::Succeeded,
            Phase::Failed => End::Failed,
            Phase::Cancelled => End::Cancelled,
            Phase::Pending | Phase::Running => return,
        };
        self.ended.get_or_create(&LabelSet((end,))).inc();
    }
}
