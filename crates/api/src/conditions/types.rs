//! The condition types of each kind.

use super::closed_list;

closed_list! {
    /// Condition types of a `VmafxJob`.
    JobCondition {
        /// The job was accepted by the controller or as a Kubernetes Job.
        Accepted,
        /// A node is scoring the job.
        Running,
        /// The job ended with a score. Final.
        Complete,
        /// The job ended without a score. Final.
        Failed,
        /// The job is suspended by request.
        Suspended,
    }
}

closed_list! {
    /// Condition types of a `VmafxNode`.
    NodeCondition {
        /// The workers can be given jobs: the summary of the other conditions.
        Ready,
        /// The StatefulSet and its Service match the spec.
        WorkloadSynced,
        /// The workers were removed by request.
        Paused,
        /// Workers are being replaced by newer ones.
        RolloutInProgress,
        /// The agents send heartbeats in time and the controller responds.
        AgentHealthy,
        /// Workers get no jobs but on trial, because they failed several in a row.
        Quarantined,
    }
}

closed_list! {
    /// Condition types of a `VmafxModelTraining`.
    TrainingCondition {
        /// The trainer runs and responds: the summary of the other conditions.
        Ready,
        /// The StatefulSet and its Service match the spec.
        WorkloadSynced,
        /// The run was stopped by request.
        Paused,
        /// The trainer is being replaced by a newer one.
        RolloutInProgress,
        /// The last checkpoint that was due reached the registry.
        CheckpointPushed,
        /// The last checkpoint met the promotion gate.
        GatePassed,
    }
}

closed_list! {
    /// Condition types of a `VmafxTenant`.
    TenantCondition {
        /// The controllers use the tenant: its callers are authenticated.
        Ready,
    }
}
