//! The condition types of each kind.

use super::words;

words! {
    /// Condition types of a `VmafxJob`.
    JobCondition {
        /// The job was handed over: to the controller's queue, or to a Kubernetes Job.
        Accepted,
        /// A node is scoring the job.
        Running,
        /// The job ended with a score. Final.
        Complete,
        /// The job ended without a score. Final.
        Failed,
        /// The job is held back by request.
        Suspended,
    }
}

words! {
    /// Condition types of a `VmafxNode`.
    NodeCondition {
        /// The workers can be given jobs: the summary of the other conditions.
        Ready,
        /// The StatefulSet and its Service are as the spec wants them.
        WorkloadSynced,
        /// The workers were taken away by request.
        Paused,
        /// Workers are being replaced by newer ones.
        RolloutInProgress,
        /// The agents report in time and the controller answers.
        AgentHealthy,
    }
}

words! {
    /// Condition types of a `VmafxModelTraining`.
    TrainingCondition {
        /// The trainer runs and answers: the summary of the other conditions.
        Ready,
        /// The StatefulSet and its Service are as the spec wants them.
        WorkloadSynced,
        /// The run was stopped by request.
        Paused,
        /// The trainer is being replaced by a newer one.
        RolloutInProgress,
        /// The last checkpoint that was due reached the registry.
        CheckpointPushed,
        /// The last checkpoint was good enough for the stable tag.
        GatePassed,
    }
}
