//! The reasons, of all kinds together: one word has one meaning everywhere.

use super::words;

words! {
    /// Why a condition is as it is; also the reason of events and the label of metrics.
    Reason {
        /// The resource was seen and nothing is known yet.
        Reconciling,
        /// The controller took the job into its queue.
        Submitted,
        /// A Kubernetes Job was created for the job.
        JobCreated,
        /// The controller does not answer; the operator keeps trying.
        ControllerUnreachable,
        /// The controller refused the job; the message says why.
        Rejected,
        /// The controller no longer knows the job; it is submitted again.
        Forgotten,
        /// A ground truth cannot become a training sample; the message says why.
        LabelRefused,
        /// The job waits for a free slot on a node.
        WaitingForSlot,
        /// No connected node offers what the job needs.
        NoMatchingNode,
        /// The job waits before its next attempt, after one was lost.
        BackingOff,
        /// The job's Pod is being made or started.
        PodStarting,
        /// No Kubernetes node has what the job's Pod asks for.
        Unschedulable,
        /// A container of the job's Pod cannot start; the message has Kubernetes' own words.
        PodStuck,
        /// An image of the job's Pod cannot be pulled.
        ImageUnavailable,
        /// The Kubernetes Job is suspended until a queue such as Kueue's admits it.
        WaitingForAdmission,
        /// A node is scoring the job.
        Scoring,
        /// The job has a score.
        Scored,
        /// The job has a score, below the one that the spec asks for.
        BelowMinScore,
        /// The inputs could not be read.
        InputUnavailable,
        /// The inputs lie outside the scoring roots.
        InputRefused,
        /// The inputs were read but could not be scored.
        ScoringFailed,
        /// The job's Pod ended well, but its result is gone or cannot be read.
        ResultLost,
        /// Every allowed attempt was lost with its node.
        AttemptsExhausted,
        /// The job took longer than its deadline.
        DeadlineExceeded,
        /// The job was given up by request.
        Cancelled,
        /// The resource is held back by request.
        Suspended,
        /// The resource is not held back.
        NotSuspended,
        /// The job has ended.
        Finished,
        /// The job has not ended yet.
        Unfinished,
        /// Everything is as it should be.
        AsExpected,
        /// The StatefulSet was created.
        Created,
        /// A StatefulSet of the right name that nobody controlled was taken over.
        Adopted,
        /// A StatefulSet of ours was found again after its record was lost.
        Retracked,
        /// The StatefulSet had vanished and was made again.
        Recreated,
        /// A StatefulSet of the right name but another identity is being replaced.
        ReplacingImpostor,
        /// A field that cannot be changed in place differs, so the StatefulSet is being replaced.
        ReplacingImmutable,
        /// The StatefulSet was replaced too often; somebody else keeps making it.
        ReplaceLoop,
        /// The StatefulSet is being deleted; a new one follows when it is gone.
        Terminating,
        /// The StatefulSet belongs to somebody else and is left alone.
        ForeignOwner,
        /// A StatefulSet of the right name that nobody controls differs in what cannot be changed, so it is left alone.
        Incompatible,
        /// Somebody removed our owner reference from the StatefulSet, so it is left alone.
        HandedOver,
        /// The API server refused the workload; the message is its own.
        Invalid,
        /// The operator lacks the permission for a request.
        Forbidden,
        /// The API server did not do what was asked of it; the operator keeps trying.
        SyncFailed,
        /// The workers are being taken away.
        Draining,
        /// The workers are gone, by request.
        Drained,
        /// Nothing was paused.
        NotPaused,
        /// Workers are being replaced.
        RollingOut,
        /// Every worker was replaced.
        RolledOut,
        /// What was paused goes on.
        Resumed,
        /// Agents report in time again.
        AgentsHealthy,
        /// Workers are starting and not ready yet.
        WorkersStarting,
        /// Somebody else runs the workers.
        External,
        /// No agent has reported yet, and it is too early to worry.
        AwaitingFirstHeartbeat,
        /// The last heartbeat is too old.
        HeartbeatStale,
        /// The controller's health probe failed.
        ProbeFailed,
        /// The trainer does not answer yet.
        TrainerStarting,
        /// The trainer stopped answering.
        TrainerUnreachable,
        /// The trainer is learning.
        Training,
        /// The trainer reported an error that it cannot get over.
        TrainingFailed,
        /// Too few samples or too little time since the last checkpoint.
        CheckpointNotDue,
        /// A checkpoint reached the registry.
        CheckpointWritten,
        /// The registry refused the checkpoint or did not answer; the push is repeated.
        PushFailed,
        /// The checkpoint reached what the gate asks for.
        GateHeld,
        /// The checkpoint fell short of what the gate asks for; the stable tag stays.
        GateMissed,
    }
}
