//! The calls to the controller, with their timeouts and retries.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use tonic::{Code, Request, Status};
use vmafx_kit::channel::{GrpcChannel, repeatable};
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_proto::controller::v1::{
    HeartbeatRequest, HeartbeatResponse, Job, PullWorkRequest, RegisterNodeRequest, RegisterNodeResponse,
    ReleaseJobRequest, ReportResultRequest,
};

use super::AgentTimeouts;
use super::lost_pulls::LostPulls;

const RELEASE_ATTEMPTS: usize = 4;

/// Clones share one connection.
#[derive(Clone, Debug)]
pub(super) struct ControllerClient {
    client: VmafxControllerClient<GrpcChannel>,
    timeouts: AgentTimeouts,
    lost_pulls: LostPulls,
}

impl ControllerClient {
    pub(super) fn new(channel: &GrpcChannel, timeouts: AgentTimeouts) -> Self {
        let client = VmafxControllerClient::new(channel.clone());
        Self { client, timeouts, lost_pulls: LostPulls::default() }
    }

    pub(super) async fn register(
        &self,
        message: RegisterNodeRequest,
    ) -> Result<RegisterNodeResponse, Status> {
        // Not repeatable, because each registration opens a session.
        let mut request = Request::new(message);
        request.set_timeout(self.timeouts.call);
        Ok(self.client.clone().register_node(request).await?.into_inner())
    }

    pub(super) async fn heartbeat(&self, mut message: HeartbeatRequest) -> Result<HeartbeatResponse, Status> {
        message.lost_pull_ids = self.lost_pulls.of_session(&message.node_id);
        Ok(self.client.clone().heartbeat(self.request(message)).await?.into_inner())
    }

    /// Waits for a job; `None` if there was none in time. A job that is assigned to a pull that fails or is dropped goes
    /// back to the queue.
    pub(super) async fn pull(&self, mut message: PullWorkRequest) -> Result<Option<Job>, Status> {
        message.wait_ms = u32::try_from(self.timeouts.pull_wait.as_millis()).unwrap_or(u32::MAX);
        message.lost_pull_ids = self.lost_pulls.of_session(&message.node_id);
        let pull = self.lost_pulls.begin(&message.node_id);
        pull.id().clone_into(&mut message.pull_id);
        let mut request = Request::new(message);
        request.set_timeout(self.timeouts.pull_wait + self.timeouts.call);
        let job = self.client.clone().pull_work(request).await?.into_inner().job;
        pull.answered();
        Ok(job)
    }

    /// Reports the result of an attempt, once.
    pub(super) async fn report(&self, message: ReportResultRequest) -> Result<(), Status> {
        self.client.clone().report_result(self.request(message)).await.map(drop)
    }

    /// Gives an attempt back, with retries.
    pub(super) async fn release(&self, message: ReleaseJobRequest) -> Result<(), Status> {
        let backoff = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(200))
            .with_max_times(RELEASE_ATTEMPTS - 1);
        let call = || async { self.client.clone().release_job(self.request(message.clone())).await };
        call.retry(backoff)
            .sleep(tokio::time::sleep)
            .when(|status| is_retryable(status.code()))
            .await
            .map(drop)
    }

    /// A call that may be processed twice.
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = repeatable(message);
        request.set_timeout(self.timeouts.call);
        request
    }
}

/// Whether the same call may succeed later. `Unauthenticated` is retried, because a token may just be rotated;
/// `PermissionDenied` is not, because a repetition does not grant the permission.
const fn is_retryable(code: Code) -> bool {
    !matches!(
        code,
        Code::InvalidArgument
            | Code::NotFound
            | Code::Unimplemented
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::AlreadyExists
            | Code::Cancelled
            | Code::PermissionDenied
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_call_is_not_retried() {
        let retried: Vec<Code> = (0..=16).map(Code::from).filter(|code| is_retryable(*code)).collect();
        assert_eq!(
            retried,
            [
                Code::Ok,
                Code::Unknown,
                Code::DeadlineExceeded,
                Code::ResourceExhausted,
                Code::Aborted,
                Code::Internal,
                Code::Unavailable,
                Code::DataLoss,
                Code::Unauthenticated,
            ]
        );
    }
}
