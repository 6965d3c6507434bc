//! Job changes as a stream that survives restarts of the controller.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tonic::Code;
use vmafx_kit::channel::streaming;
use vmafx_proto::controller::v1::{Job, JobStatus, StreamJobsRequest};

use super::{Client, RemoteError};

/// Maximum number of job ids in one stream request; the controller rejects more.
pub(crate) const MAX_STREAMED_IDS: usize = 1000;

const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

pub(crate) trait JobStreamHandler {
    /// Receives the current state of a job. `false` ends the stream.
    fn on_job(&mut self, job: Job) -> bool;
    /// The controller does not answer; the stream is retried.
    fn on_retry(&mut self, why: &str);
}

/// Passes every job that matches, and each of its changes, to the handler until the handler ends the stream.
pub(crate) async fn watch(
    client: &Client,
    mut request: StreamJobsRequest,
    handler: &mut impl JobStreamHandler,
) -> Result<(), RemoteError> {
    request.watch = true;
    let mut delays = retry_delays();
    loop {
        let ended = match client.clone().stream_jobs(streaming(request.clone())).await {
            Ok(stream) => {
                let mut stream = stream.into_inner();
                loop {
                    match stream.message().await {
                        Ok(Some(job)) => {
                            delays = retry_delays();
                            if !job.cursor.is_empty() {
                                request.cursor.clone_from(&job.cursor);
                            }
                            // A message without a job id only advances the cursor.
                            if !job.id.is_empty() && !handler.on_job(job) {
                                return Ok(());
                            }
                        }
                        Ok(None) => break None,
                        // The stream has outlived its token. A new one is opened with the current token, or refused.
                        Err(status) if status.code() == Code::Unauthenticated => break None,
                        Err(status) => break Some(status),
                    }
                }
            }
            Err(status) => Some(status),
        };
        match ended {
            // The controller no longer has this cursor: start again with the current state of all jobs.
            Some(status) if status.code() == Code::OutOfRange && !request.cursor.is_empty() => {
                request.cursor.clear();
                continue;
            }
            Some(status) if !is_transient(status.code()) => return Err(status.into()),
            Some(status) => handler.on_retry(status.message()),
            None => {}
        }
        tokio::time::sleep(delays.next().unwrap_or(MAX_RETRY_DELAY)).await;
    }
}

/// Whether the job is in a final state.
pub(crate) fn has_ended(job: &Job) -> bool {
    !matches!(job.status(), JobStatus::Pending | JobStatus::Running)
}

fn is_transient(code: Code) -> bool {
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

/// Exponential back-off without an end.
pub(crate) fn retry_delays() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(MAX_RETRY_DELAY)
        .without_max_times()
        .build()
}
