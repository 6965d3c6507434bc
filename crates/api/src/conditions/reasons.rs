//! The reasons of all kinds in one list: a reason has the same meaning everywhere.

use super::closed_list;

closed_list! {
    /// Reason of a condition, an event and a metric label.
    Reason {
        /// The operator has not determined the status of the resource yet.
        Reconciling,
        /// The controller added the job to its queue.
        Submitted,
        /// A Kubernetes Job was created for the job.
        JobCreated,
        /// The controller does not respond; the operator retries.
        ControllerUnreachable,
        /// The request is invalid; the message names the field.
        Rejected,
        /// The controller does not have the job any more; the operator submits it again.
        Forgotten,
        /// A ground truth cannot become a training sample; the message says why.
        LabelRefused,
        /// A change of the job is not accepted, and the job stays as it was; the message says why.
        ChangeRefused,
        /// The job waits for a free slot on a node.
        WaitingForSlot,
        /// No connected node offers what the job needs.
        NoMatchingNode,
        /// The job waits before its next attempt, after one failed or was lost.
        BackingOff,
        /// An attempt failed through no fault of the job; another one follows.
        AttemptFailed,
        /// Every node that offers what the job needs is quarantined.
        NodesQuarantined,
        /// The job's Pod is being created or started.
        PodStarting,
        /// No Kubernetes node has what the job's Pod asks for.
        Unschedulable,
        /// A container of the job's Pod cannot start; the message is that of Kubernetes.
        PodStuck,
        /// An image of the job's Pod cannot be pulled.
        ImageUnavailable,
        /// The Kubernetes Job is suspended until a queue such as Kueue's admits it.
        WaitingForAdmission,
        /// A node is scoring the job.
        Scoring,
        /// The job has a score.
        Scored,
        /// The job has a score below spec.minScore.
        BelowMinScore,
        /// The inputs could not be read.
        InputUnavailable,
        /// The inputs are outside the scoring roots, or their store denies access.
        InputRefused,
        /// The controller refuses the job until a quota has room.
        QuotaExceeded,
        /// The controller's store has no room; the operator repeats the call until there is.
        StoreFull,
        /// The inputs were read but could not be scored.
        ScoringFailed,
        /// The job's Pod succeeded, but its result is missing or cannot be parsed.
        ResultLost,
        /// Every allowed attempt was lost with its node, or failed through no fault of the job.
        AttemptsExhausted,
        /// The job took longer than its deadline.
        DeadlineExceeded,
        /// The job was cancelled by request.
        Cancelled,
        /// The resource is suspended by request.
        Suspended,
        /// The resource is not suspended.
        NotSuspended,
        /// The job has ended.
        Finished,
        /// The job has not ended yet.
        Unfinished,
        /// The observed state is the desired state.
        AsExpected,
        /// The StatefulSet was created.
        Created,
        /// A StatefulSet of the right name without a controlling owner was adopted.
        Adopted,
        /// The operator's own StatefulSet was found again after the status had lost its reference.
        Retracked,
        /// The StatefulSet had been deleted and was created again.
        Recreated,
        /// A StatefulSet of the right name but another identity is being replaced.
        ReplacingImpostor,
        /// A field that cannot be changed in place differs, so the StatefulSet is being replaced.
        ReplacingImmutable,
        /// The StatefulSet was replaced too often; another client keeps creating it.
        ReplaceLoop,
        /// The StatefulSet is being deleted; a new one follows when it is gone.
        Terminating,
        /// The StatefulSet has another controlling owner and is left alone.
        ForeignOwner,
        /// A StatefulSet of the right name without a controlling owner differs in immutable fields, so it is left alone.
        Incompatible,
        /// The operator's owner reference was removed from the StatefulSet, so the StatefulSet is left alone.
        HandedOver,
        /// The API server rejected the workload; the message is that of the API server.
        Invalid,
        /// The operator lacks the permission for a request.
        Forbidden,
        /// The Pod template uses an account, a Secret or a token that it may not; the message names the field.
        PodTemplateForbidden,
        /// A request to the API server failed; the operator retries.
        SyncFailed,
        /// The workers are being removed.
        Draining,
        /// The workers were removed by request.
        Drained,
        /// The resource is not paused.
        NotPaused,
        /// Workers are being replaced.
        RollingOut,
        /// Every worker was replaced.
        RolledOut,
        /// The resource was resumed after a pause.
        Resumed,
        /// Agents report in time again.
        AgentsHealthy,
        /// Workers are starting and not ready yet.
        WorkersStarting,
        /// The workers are not run by the operator.
        External,
        /// No agent has sent a heartbeat yet, and the time for the first one is not over.
        AwaitingFirstHeartbeat,
        /// The last heartbeat is too old.
        HeartbeatStale,
        /// The controller's health probe failed.
        ProbeFailed,
        /// Workers failed several jobs in a row; the message is the error of the last one.
        FailingJobs,
        /// The trainer does not respond yet.
        TrainerStarting,
        /// The trainer does not respond any more.
        TrainerUnreachable,
        /// The trainer is learning.
        Training,
        /// The trainer reported an error that it cannot recover from.
        TrainingFailed,
        /// Too few samples or too little time since the last checkpoint.
        CheckpointNotDue,
        /// A checkpoint reached the registry.
        CheckpointWritten,
        /// The registry rejected the checkpoint or did not respond; the push is retried.
        PushFailed,
        /// The checkpoint met the promotion gate.
        GateHeld,
        /// The checkpoint did not meet the promotion gate; the stable tag stays.
        GateMissed,
        /// The controllers use the tenant.
        TenantInForce,
        /// The tenant cannot be used as it is; the message names the field.
        TenantInvalid,
        /// Another tenant has the same tenantId, so neither is used.
        TenantIdTaken,
        /// Another tenant lists a namespace of this one, so the namespace belongs to neither.
        NamespaceTaken,
    }
}
