//! The calls to the controller: one connection for all, a deadline on each, and what a refusal means.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;
use tonic::{Code, Status, Streaming};
use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;
use vmafx_job::CancelCause;
use vmafx_kit::channel::{GrpcChannel, streaming};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_proto::refusal::RefusalReason;

use super::plan::{Remote, Why, cancel_text, is_open};
use super::request;

/// Open jobs read at once.
const PAGE: u32 = 500;

/// Jobs that wait or run.
const OPEN: [i32; 2] = [wire::JobStatus::Pending as i32, wire::JobStatus::Running as i32];

/// The controller, for the jobs of this cluster.
#[derive(Clone)]
pub struct Link {
    client: VmafxControllerClient<GrpcChannel>,
    target: String,
    cluster: Arc<str>,
    failed: Arc<Mutex<Option<(Instant, Why)>>>,
}

/// A job that was handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Its id.
    pub id: String,
    /// It was there already, from an earlier call with the same key.
    pub known: bool,
}

/// What became of a ground truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Labelled {
    /// The controller has it.
    Taken,
    /// It will not have it, for this reason.
    Refused(String),
}

impl Link {
    /// `cluster` is what the controller calls this cluster.
    pub fn new(channel: GrpcChannel, cluster: impl Into<Arc<str>>) -> Self {
        let target = channel.target().to_string();
        Self {
            client: VmafxControllerClient::new(channel),
            target,
            cluster: cluster.into(),
            failed: Arc::default(),
        }
    }

    /// What the controller knows of a job.
    pub async fn ask(&self, id: &str) -> Remote {
        let asked = wire::GetJobRequest { job_id: id.to_owned() };
        match self.client.clone().get_job(asked).await {
            Ok(job) => Remote::Job(Arc::new(lean(job.into_inner()))),
            Err(status) if status.code() == Code::NotFound => Remote::Missing,
            Err(status) => Remote::Unreachable(self.why(&status)),
        }
    }

    /// Hands a job over. The error is what is then known of it.
    pub async fn submit(&self, job: &VmafxJob, key: String) -> Result<Submitted, Remote> {
        let asked = request::request(job, &self.cluster, key);
        match self.client.clone().submit_job(asked).await {
            Ok(answer) => {
                let wire::SubmitJobResponse { job_id, deduplicated } = answer.into_inner();
                Ok(Submitted { id: job_id, known: deduplicated })
            }
            Err(status) => Err(match refusal(&status) {
                Some(reason) => Remote::Refused(Why { reason, message: status.message().to_owned() }),
                None => Remote::Unreachable(self.why(&status)),
            }),
        }
    }

    /// Ends a job; one that is over or unknown is no error.
    pub async fn cancel(&self, id: &str, cause: CancelCause) -> Result<(), Why> {
        let asked = wire::CancelJobRequest {
            job_id: id.to_owned(),
            reason: cancel_text(cause).to_owned(),
            cause: wire::CancelCause::from(cause).into(),
        };
        match self.client.clone().cancel_job(asked).await {
            Ok(_) => Ok(()),
            Err(status) if status.code() == Code::NotFound => Ok(()),
            Err(status) => Err(self.why(&status)),
        }
    }

    /// Tells what viewers say of a job. The error is why there is no answer.
    pub async fn label(&self, id: &str, value: f64) -> Result<Labelled, Why> {
        let asked = wire::LabelJobRequest {
            target: Some(wire::label_job_request::Target::JobId(id.to_owned())),
            ground_truth: Some(request::ground_truth(value)),
        };
        match self.client.clone().label_job(asked).await {
            Ok(_) => Ok(Labelled::Taken),
            Err(status) if is_no_to_a_label(status.code()) => {
                Ok(Labelled::Refused(status.message().to_owned()))
            }
            Err(status) => Err(self.why(&status)),
        }
    }

    /// A job of the resource with this UID: one that is open if there is one, else the newest.
    pub async fn find(&self, uid: &str) -> Remote {
        let asked = wire::ListJobsRequest {
            origin_filter: Some(wire::ResourceRef { uid: uid.to_owned(), ..self.origin() }),
            newest_first: true,
            ..wire::ListJobsRequest::default()
        };
        match self.client.clone().list_jobs(asked).await {
            Ok(answer) => {
                let mut jobs = answer.into_inner().jobs;
                let best = jobs.iter().position(is_open).unwrap_or_default();
                if jobs.is_empty() {
                    Remote::Missing
                } else {
                    Remote::Job(Arc::new(lean(jobs.swap_remove(best))))
                }
            }
            Err(status) => Remote::Unreachable(self.why(&status)),
        }
    }

    /// A page of the open jobs of this cluster, and the token of the next one.
    pub async fn open_jobs(&self, page_token: String) -> Result<(Vec<wire::Job>, String), Why> {
        let asked = wire::ListJobsRequest {
            status_filter: OPEN.to_vec(),
            origin_filter: Some(self.origin()),
            page_size: PAGE,
            page_token,
            ..wire::ListJobsRequest::default()
        };
        let answer = self.client.clone().list_jobs(asked).await.map_err(|status| self.why(&status))?;
        let wire::ListJobsResponse { jobs, next_page_token } = answer.into_inner();
        Ok((jobs, next_page_token))
    }

    /// Why a job waits; nothing if it does not.
    pub async fn explain(&self, id: &str, now: Timestamp) -> Option<Why> {
        let asked = wire::ExplainRequest { job_id: id.to_owned() };
        let answer = self.client.clone().explain(asked).await.ok()?.into_inner();
        let reason = match answer.reason() {
            wire::WaitReason::Unspecified => return None,
            wire::WaitReason::NoNode | wire::WaitReason::NoBackend => Reason::NoMatchingNode,
            wire::WaitReason::BackingOff => Reason::BackingOff,
            wire::WaitReason::Busy | wire::WaitReason::Ready => Reason::WaitingForSlot,
        };
        // The numbers move, and are not written again when they do.
        Some(Why { reason, message: format!("{} (at {now:.0})", answer.message) })
    }

    /// The jobs of this cluster as they change: after the cursor, or from now on.
    pub async fn changes(&self, cursor: String) -> Result<Streaming<wire::Job>, Status> {
        let asked = wire::StreamJobsRequest {
            watch: true,
            changes_only: true,
            cursor,
            origin_filter: Some(self.origin()),
            ..wire::StreamJobsRequest::default()
        };
        Ok(self.client.clone().stream_jobs(streaming(asked)).await?.into_inner())
    }

    /// Why the last call failed, if that was no longer ago.
    pub fn failed_within(&self, time: Duration) -> Option<Why> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.as_ref().filter(|(at, _)| at.elapsed() < time).map(|(_, why)| why.clone())
    }

    /// Why there is no answer, in words that stay.
    pub fn why(&self, status: &Status) -> Why {
        let reason = match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => Reason::Forbidden,
            _ => Reason::ControllerUnreachable,
        };
        let said = status.message();
        let message = if said.contains(&self.target) {
            said.to_owned()
        } else {
            format!("the controller at {} answers: {said}", self.target)
        };
        let why = Why { reason, message };
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), why.clone()));
        why
    }

    fn origin(&self) -> wire::ResourceRef {
        wire::ResourceRef { cluster: self.cluster.to_string(), ..wire::ResourceRef::default() }
    }
}

/// A refusal that no repetition will change.
fn refusal(status: &Status) -> Option<Reason> {
    match status.code() {
        Code::InvalidArgument => Some(Reason::Rejected),
        _ => match RefusalReason::of(status)? {
            RefusalReason::OutsideScoringRoots => Some(Reason::InputRefused),
        },
    }
}

/// Whether no repetition will make the controller take a label. An older one may not know the call at all.
fn is_no_to_a_label(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::NotFound
            | Code::Unimplemented
    )
}

/// Without what the resource says itself.
pub fn lean(job: wire::Job) -> wire::Job {
    wire::Job { scoring: None, idempotency_key: String::new(), cursor: String::new(), ..job }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::invalid(Status::invalid_argument("scoring.model: is too long"), Some(Reason::Rejected))]
    #[case::outside(RefusalReason::OutsideScoringRoots.status(Code::PermissionDenied, "outside"), Some(Reason::InputRefused))]
    #[case::only_the_text(Status::permission_denied("scoring.reference: outside"), None)]
    #[case::not_a_writer(Status::permission_denied("this call is not allowed"), None)]
    #[case::no_token(Status::unauthenticated("invalid or missing token"), None)]
    #[case::down(Status::unavailable("down"), None)]
    #[case::full(Status::resource_exhausted("too much"), None)]
    fn only_what_stays_wrong_ends_a_job(#[case] status: Status, #[case] expected: Option<Reason>) {
        assert_eq!(refusal(&status), expected);
    }
}
