//! Finds out, before the first job is pulled, whether workers can be confined on this machine.

use vmafx_job::{Confinement, Failure, FailureReason};
use vmafx_kit::health::Readiness;
use vmafx_kit::tasks::{BoxError, TaskSet};

use crate::scorer::Scorer;

/// Probes the confinement of workers by one that does nothing else. The gate stays closed if less is in force than the
/// settings require. A probe that fails for another reason is an error of the start: the next start may succeed.
pub(super) async fn probe(
    scorer: &Scorer,
    readiness: &Readiness,
) -> Result<Result<Confinement, Failure>, BoxError> {
    let gate = readiness.gate("confinement", "has not been probed");
    let probed = scorer.probe_confinement().await;
    match &probed {
        Ok(confinement) if confinement.is_complete() => gate.open(),
        Ok(confinement) => {
            let missing = confinement.missing().join(" and ");
            tracing::warn!(
                missing,
                "workers are not confined; only clips that are trusted should be scored here"
            );
            gate.open_with_note(format!("{missing} is not in force (VMAFX_CONFINEMENT=best-effort)"));
        }
        Err(failure) if failure.reason != FailureReason::NodeUnconfined => {
            return Err(failure.clone().into());
        }
        Err(failure) => {
            tracing::error!(reason = %failure.reason, "no jobs are pulled: {}", failure.message);
            gate.close(failure.message.clone());
        }
    }
    Ok(probed)
}

/// Keeps a process running that pulls no jobs, so that its health pages say why.
pub(super) fn wait_for_shutdown(tasks: &mut TaskSet) {
    let begun = tasks.shutdown().begun();
    tasks.service("unconfined", async move {
        begun.await;
        Ok::<_, BoxError>(())
    });
}
