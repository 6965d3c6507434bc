//! The calls to the controller, with their patience.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use tonic::{Code, Request, Status};
use vmafx_kit::channel::GrpcChannel;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_proto::controller::v1::{
    HeartbeatRequest, HeartbeatResponse, Job, PullWorkRequest, RegisterNodeRequest, RegisterNodeResponse,
    ReleaseJobRequest, ReportResultRequest,
};

use super::Patience;

/// Attempts at a report.
const REPORTS: usize = 8;

/// The controller. Clones share one connection.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    client: VmafxControllerClient<GrpcChannel>,
    patience: Patience,
}

impl Controller {
    pub(super) fn new(channel: &GrpcChannel, patience: Patience) -> Self {
        Self { client: VmafxControllerClient::new(channel.clone()), patience }
    }

    pub(super) async fn register(&self, asked: RegisterNodeRequest) -> Result<RegisterNodeResponse, Status> {
        Ok(self.client.clone().register_node(self.timed(asked)).await?.into_inner())
    }

    pub(super) async fn heartbeat(&self, asked: HeartbeatRequest) -> Result<HeartbeatResponse, Status> {
        Ok(self.client.clone().heartbeat(self.timed(asked)).await?.into_inner())
    }

    /// A job, or none after a while.
    pub(super) async fn pull(&self, mut asked: PullWorkRequest) -> Result<Option<Job>, Status> {
        asked.wait_ms = u32::try_from(self.patience.pull.as_millis()).unwrap_or(u32::MAX);
        let mut request = Request::new(asked);
        request.set_timeout(self.patience.pull + self.patience.call);
        Ok(self.client.clone().pull_work(request).await?.into_inner().job)
    }

    /// Says how an attempt ended, again and again until it is heard or refused.
    pub(super) async fn report(&self, asked: ReportResultRequest) -> Result<(), Status> {
        let patience = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(500))
            .with_max_delay(Duration::from_secs(15))
            .with_max_times(REPORTS - 1);
        let call = || async { self.client.clone().report_result(self.timed(asked.clone())).await };
        call.retry(patience).sleep(tokio::time::sleep).when(|status| may_pass(status.code())).await.map(drop)
    }

    /// Gives an attempt back; `false` when it was over already.
    pub(super) async fn release(&self, asked: ReleaseJobRequest) -> Result<bool, Status> {
        let patience = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(200))
            .with_max_times(3);
        let call = || async { self.client.clone().release_job(self.timed(asked.clone())).await };
        Ok(call
            .retry(patience)
            .sleep(tokio::time::sleep)
            .when(|status| may_pass(status.code()))
            .await?
            .into_inner()
            .ok)
    }

    fn timed<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(self.patience.call);
        request
    }
}

/// Whether the same call may succeed later. A permission is not given by asking again.
pub(super) const fn may_pass(code: Code) -> bool {
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
    fn what_is_refused_is_not_asked_again() {
        let asked_again: Vec<Code> = (0..=16).map(Code::from).filter(|code| may_pass(*code)).collect();
        assert_eq!(
            asked_again,
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
