//! Whether the kernels that compute features give the values of their specification on this CPU.

use tokio_util::sync::CancellationToken;
use vmafx_job::{Failure, FailureReason};
use vmafx_kit::health::{Readiness, ReadinessGate};
use vmafx_kit::tasks::BoxError;
use vmafx_scoring::engine::{NativeError, check_kernels};

/// Takes a node out of service whose kernels compute wrong values: it is not ready any more, and pulls no further job.
#[derive(Clone, Debug)]
pub struct KernelGuard {
    gate: ReadinessGate,
    out_of_service: CancellationToken,
}

impl KernelGuard {
    pub fn new(readiness: &Readiness) -> Self {
        let gate = readiness.gate("kernels", "have not been checked");
        Self { gate, out_of_service: CancellationToken::new() }
    }

    /// Checks the kernels. A check that fails for another reason than a mismatch is an error of the start.
    pub(super) async fn check(&self) -> Result<(), BoxError> {
        match tokio::task::spawn_blocking(check_kernels).await? {
            Ok(()) => self.gate.open(),
            Err(NativeError::Mismatch(mismatch)) => {
                self.failed(&Failure::new(FailureReason::KernelMismatch, mismatch.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// libvmaf computes the features.
    pub(super) fn not_used(&self) {
        self.gate.open();
    }

    /// Considers why a job failed.
    pub fn failed(&self, failure: &Failure) {
        if failure.reason == FailureReason::KernelMismatch {
            tracing::error!(reason = %failure.reason, "this node pulls no more jobs: {}", failure.message);
            self.gate.close(failure.message.clone());
            self.out_of_service.cancel();
        }
    }

    pub fn is_out_of_service(&self) -> bool {
        self.out_of_service.is_cancelled()
    }

    /// Ends when the node is taken out of service.
    pub async fn out_of_service(&self) {
        self.out_of_service.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use vmafx_kit::tasks::TaskSet;

    use super::*;

    #[tokio::test]
    async fn a_mismatch_takes_the_node_out_of_service_and_no_other_failure_does() {
        let readiness = Readiness::new(TaskSet::default().shutdown());
        let guard = KernelGuard::new(&readiness);
        guard.check().await.unwrap();
        guard.failed(&Failure::new(FailureReason::Internal, "another"));
        assert_eq!((readiness.missing(), guard.is_out_of_service()), (vec![], false));
        guard.failed(&Failure::new(FailureReason::KernelMismatch, "on a CPU"));
        assert_eq!(readiness.missing(), [("kernels", "on a CPU".to_owned())]);
        assert!(guard.is_out_of_service());
    }
}
