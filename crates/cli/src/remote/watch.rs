//! Changes of jobs as they happen, through restarts of the controller.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tonic::Code;
use vmafx_kit::channel::streaming;
use vmafx_proto::controller::v1::{Job, JobStatus, StreamJobsRequest};

use super::{Client, RemoteError};

/// Most jobs that one stream can name.
pub(crate) const MOST: usize = 1000;

/// Who wants to hear of jobs.
pub(crate) trait Listener {
    /// A job, as it is now. `false`: that is enough.
    fn job(&mut self, job: Job) -> bool;
    /// The controller does not answer, and is asked again.
    fn waiting(&mut self, why: &str);
}

/// Tells a listener of every job that matches, and of each change, until it has heard enough.
pub(crate) async fn watch(
    client: &Client,
    mut asked: StreamJobsRequest,
    listener: &mut impl Listener,
) -> Result<(), RemoteError> {
    asked.watch = true;
    let mut pauses = pauses();
    loop {
        let ended = match client.clone().stream_jobs(streaming(asked.clone())).await {
            Ok(stream) => {
                let mut stream = stream.into_inner();
                loop {
                    match stream.message().await {
                        Ok(Some(job)) => {
                            pauses = self::pauses();
                            if !job.cursor.is_empty() {
                                asked.cursor.clone_from(&job.cursor);
                            }
                            // Without an id it only moves the cursor.
                            if !job.id.is_empty() && !listener.job(job) {
                                return Ok(());
                            }
                        }
                        Ok(None) => break None,
                        Err(status) => break Some(status),
                    }
                }
            }
            Err(status) => Some(status),
        };
        match ended {
            // The place is forgotten: everything is told again, from now on.
            Some(status) if status.code() == Code::OutOfRange && !asked.cursor.is_empty() => {
                asked.cursor.clear();
            }
            Some(status) if !may_pass(status.code()) => return Err(status.into()),
            Some(status) => {
                listener.waiting(status.message());
                tokio::time::sleep(pauses.next().unwrap_or(Duration::from_secs(5))).await;
            }
            None => tokio::time::sleep(pauses.next().unwrap_or(Duration::from_secs(5))).await,
        }
    }
}

/// Whether a job will not change any more.
pub(crate) fn is_over(job: &Job) -> bool {
    !matches!(job.status(), JobStatus::Pending | JobStatus::Running)
}

fn may_pass(code: Code) -> bool {
    matches!(
        code,
        Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Unknown
            | Code::Internal
            | Code::ResourceExhausted
            | Code::Aborted
    )
}

fn pauses() -> backon::ExponentialBackoff {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(Duration::from_secs(5))
        .without_max_times()
        .build()
}
