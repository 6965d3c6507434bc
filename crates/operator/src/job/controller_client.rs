//! The calls to the controller: one connection for all of them, a timeout on each, and what a refusal means.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tonic::metadata::AsciiMetadataValue;
use tonic::{Code, Request, Response, Status, Streaming};
use vmafx_api::VmafxJob;
use vmafx_api::conditions::Reason;
use vmafx_job::CancelCause;
use vmafx_kit::channel::{GrpcChannel, repeatable, streaming};
use vmafx_proto::NAMESPACE_HEADER;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_proto::refusal::RefusalReason;

use super::observe::{Explanation, ObservedJob};
use super::outage::{ControllerOutage, OutageRecord};
use super::plan::{cancel_text, is_open};
use super::request;

const OPEN_JOBS_PAGE_SIZE: u32 = 500;

/// For a whole batch of jobs.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

const OPEN_STATUSES: [i32; 2] = [wire::JobStatus::Pending as i32, wire::JobStatus::Running as i32];

/// Sees only the jobs of this cluster.
#[derive(Clone)]
pub struct ControllerClient {
    client: VmafxControllerClient<GrpcChannel>,
    target: String,
    cluster: Arc<str>,
    /// Marks the jobs that this installation of the operator submits; empty without leader election.
    installation: Arc<str>,
    /// The namespace that the calls are for, if the controller has a tenant for each.
    namespace: Option<AsciiMetadataValue>,
    outages: OutageRecord,
}

/// Why the controller did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFailure {
    Outage(ControllerOutage),
    /// The controller answered that it cannot do it for now.
    Refused(Explanation),
}

impl From<ControllerOutage> for CallFailure {
    fn from(outage: ControllerOutage) -> Self {
        Self::Outage(outage)
    }
}

impl CallFailure {
    pub fn into_explanation(self) -> Explanation {
        match self {
            Self::Outage(outage) => outage.explanation,
            Self::Refused(explanation) => explanation,
        }
    }
}

/// The controller's answer to a ground truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelResponse {
    Accepted,
    /// The controller will never accept it; the message says why.
    Rejected(String),
}

/// The controller's answer to a change of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum UpdateResponse {
    /// The job after the call, changed or not.
    Job(Arc<wire::Job>),
    Missing,
    /// The controller does not accept the change; the message says why.
    Rejected(String),
}

impl ControllerClient {
    /// `cluster` is the name under which the controller knows this cluster.
    pub fn new(
        channel: GrpcChannel,
        cluster: impl Into<Arc<str>>,
        installation: impl Into<Arc<str>>,
    ) -> Self {
        let target = channel.target().to_string();
        Self {
            client: VmafxControllerClient::new(channel),
            target,
            cluster: cluster.into(),
            installation: installation.into(),
            namespace: None,
            outages: OutageRecord::default(),
        }
    }

    /// Calls for the tenant of this namespace. Another tenant may be denied what this one is not, so an outage is recorded
    /// for each.
    #[must_use]
    pub fn for_namespace(&self, namespace: &str) -> Self {
        // The controller refuses an empty name. The API server accepts none that metadata cannot hold.
        let name = AsciiMetadataValue::try_from(namespace);
        let name = name.unwrap_or_else(|_| AsciiMetadataValue::from_static(""));
        Self { namespace: Some(name), outages: OutageRecord::default(), ..self.clone() }
    }

    fn call<T>(&self, mut request: Request<T>) -> Request<T> {
        if let Some(namespace) = &self.namespace {
            request.metadata_mut().insert(NAMESPACE_HEADER, namespace.clone());
        }
        request
    }

    pub async fn get(&self, id: &str) -> ObservedJob {
        let request = wire::GetJobRequest { job_id: id.to_owned() };
        match self.heard(self.client.clone().get_job(self.call(repeatable(request))).await) {
            Ok(job) => ObservedJob::Present(Arc::new(trimmed(job))),
            Err(status) if status.code() == Code::NotFound => ObservedJob::Missing,
            Err(status) => ObservedJob::Unreachable(self.failure(&status)),
        }
    }

    /// The error is what was observed instead of an accepted job.
    pub async fn submit(&self, job: &VmafxJob, key: String) -> Result<wire::SubmitJobResponse, ObservedJob> {
        let key = request::marked(&key, &self.installation);
        let request = request::request(job, &self.cluster, key);
        match self.heard(self.client.clone().submit_job(self.call(repeatable(request))).await) {
            Ok(answer) => Ok(answer),
            // The key was used for another request: the resource has changed since its submission was lost.
            Err(status) if status.code() == Code::AlreadyExists => {
                let uid = job.metadata.uid.as_deref().unwrap_or_default();
                Err(match self.find(uid).await {
                    ObservedJob::Missing => ObservedJob::Unreachable(self.failure(&status)),
                    found => found,
                })
            }
            Err(status) => Err(match submission_refusal(&status) {
                SubmissionRefusal::Final(reason) => ObservedJob::Rejected(explanation(reason, &status)),
                SubmissionRefusal::Liftable(reason) => ObservedJob::Refused(explanation(reason, &status)),
                SubmissionRefusal::Outage => ObservedJob::Unreachable(self.failure(&status)),
            }),
        }
    }

    /// A job that has ended or is unknown is no error.
    pub async fn cancel(&self, id: &str, cause: CancelCause) -> Result<(), CallFailure> {
        let request = wire::CancelJobRequest {
            job_id: id.to_owned(),
            reason: cancel_text(cause).to_owned(),
            cause: wire::CancelCause::from(cause).into(),
        };
        match self.heard(self.client.clone().cancel_job(self.call(repeatable(request))).await) {
            Ok(_) => Ok(()),
            Err(status) if status.code() == Code::NotFound => Ok(()),
            Err(status) => Err(self.call_failure(&status)),
        }
    }

    /// Changes a job that has not ended.
    pub async fn update(&self, request: wire::UpdateJobRequest) -> Result<UpdateResponse, CallFailure> {
        let rejected = |message: &str| Ok(UpdateResponse::Rejected(message.to_owned()));
        match self.heard(self.client.clone().update_job(self.call(Request::new(request))).await) {
            Ok(answer) => Ok(UpdateResponse::Job(Arc::new(trimmed(answer.job.unwrap_or_default())))),
            Err(status) if status.code() == Code::NotFound => Ok(UpdateResponse::Missing),
            Err(status) if status.code() == Code::Unimplemented => {
                rejected("this controller cannot change a job; upgrade it, or create a new VmafxJob")
            }
            Err(status) if status.code() == Code::FailedPrecondition => rejected(status.message()),
            Err(status) => match (refusal_for_now(&status), submission_refusal(&status)) {
                (Some(_), _) | (None, SubmissionRefusal::Outage) => Err(self.call_failure(&status)),
                (None, _) => rejected(status.message()),
            },
        }
    }

    /// Sends the ground truth of a job.
    pub async fn label(&self, id: &str, value: f64) -> Result<LabelResponse, CallFailure> {
        let request = wire::LabelJobRequest {
            target: Some(wire::label_job_request::Target::JobId(id.to_owned())),
            ground_truth: Some(request::ground_truth(value)),
        };
        match self.heard(self.client.clone().label_job(self.call(repeatable(request))).await) {
            Ok(_) => Ok(LabelResponse::Accepted),
            Err(status) if is_label_rejection(status.code()) => {
                Ok(LabelResponse::Rejected(status.message().to_owned()))
            }
            Err(status) => Err(self.call_failure(&status)),
        }
    }

    /// Searches for a job of the resource with this UID: an open one if there is one, otherwise the newest.
    pub async fn find(&self, uid: &str) -> ObservedJob {
        let request = wire::ListJobsRequest {
            origin_filter: Some(wire::ResourceRef { uid: uid.to_owned(), ..self.origin() }),
            newest_first: true,
            ..wire::ListJobsRequest::default()
        };
        match self.heard(self.client.clone().list_jobs(self.call(repeatable(request))).await) {
            Ok(wire::ListJobsResponse { mut jobs, .. }) => {
                if jobs.is_empty() {
                    return ObservedJob::Missing;
                }
                let best = jobs.iter().position(is_open).unwrap_or_default();
                ObservedJob::Present(Arc::new(trimmed(jobs.swap_remove(best))))
            }
            Err(status) => ObservedJob::Unreachable(self.failure(&status)),
        }
    }

    /// A page of the open jobs of this cluster, and the token of the next one.
    pub async fn open_jobs(&self, page_token: String) -> Result<(Vec<wire::Job>, String), ControllerOutage> {
        let request = wire::ListJobsRequest {
            status_filter: OPEN_STATUSES.to_vec(),
            origin_filter: Some(self.origin()),
            page_size: OPEN_JOBS_PAGE_SIZE,
            page_token,
            ..wire::ListJobsRequest::default()
        };
        let answer = self.heard(self.client.clone().list_jobs(self.call(repeatable(request))).await);
        let answer = answer.map_err(|status| self.failure(&status))?;
        let wire::ListJobsResponse { jobs, next_page_token } = answer;
        Ok((jobs, next_page_token))
    }

    /// Reads these jobs in one call; those that the controller does not have are left out.
    pub async fn read(&self, ids: Vec<String>) -> Result<Vec<wire::Job>, ControllerOutage> {
        let request = wire::StreamJobsRequest { job_ids: ids, ..wire::StreamJobsRequest::default() };
        let read = async {
            let mut stream =
                self.heard(self.client.clone().stream_jobs(self.call(streaming(request))).await)?;
            let mut jobs = Vec::new();
            while let Some(job) = stream.message().await? {
                jobs.push(job);
            }
            Ok(jobs)
        };
        let no_answer = || Status::deadline_exceeded(format!("no answer within {READ_TIMEOUT:?}"));
        let jobs = tokio::time::timeout(READ_TIMEOUT, read).await.unwrap_or_else(|_| Err(no_answer()));
        jobs.map_err(|status: Status| self.failure(&status))
    }

    /// Why a job is pending; `None` if it is not, or if the controller did not answer.
    pub async fn explain(&self, id: &str, now: Timestamp) -> Option<Explanation> {
        let request = wire::ExplainRequest { job_id: id.to_owned() };
        let answer = self.heard(self.client.clone().explain(self.call(repeatable(request))).await).ok()?;
        let reason = match answer.reason() {
            wire::WaitReason::Unspecified => return None,
            wire::WaitReason::NoNode | wire::WaitReason::NoBackend => Reason::NoMatchingNode,
            wire::WaitReason::Quarantined => Reason::NodesQuarantined,
            wire::WaitReason::BackingOff => Reason::BackingOff,
            wire::WaitReason::Busy | wire::WaitReason::Ready | wire::WaitReason::TenantLimit => {
                Reason::WaitingForSlot
            }
        };
        // The numbers in the message change all the time and are written only with a new reason, so it names its time.
        Some(Explanation { reason, message: format!("{} (at {now:.0})", answer.message) })
    }

    /// Streams the changes of this cluster's jobs: those after the cursor, or without one those from now on.
    pub async fn changes(&self, cursor: String) -> Result<Streaming<wire::Job>, Status> {
        let request = wire::StreamJobsRequest {
            watch: true,
            changes_only: true,
            cursor,
            origin_filter: Some(self.origin()),
            ..wire::StreamJobsRequest::default()
        };
        self.heard(self.client.clone().stream_jobs(self.call(streaming(request))).await)
    }

    pub fn outages(&self) -> &OutageRecord {
        &self.outages
    }

    /// Records that a call failed and says why.
    pub fn failure(&self, status: &Status) -> ControllerOutage {
        let reason = match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => Reason::Forbidden,
            _ => Reason::ControllerUnreachable,
        };
        let message = format!("a call to the controller at {} failed: {}", self.target, status.message());
        self.outages.failed(Explanation { reason, message })
    }

    fn call_failure(&self, status: &Status) -> CallFailure {
        match refusal_for_now(status) {
            Some(reason) => CallFailure::Refused(explanation(reason, status)),
            None => CallFailure::Outage(self.failure(status)),
        }
    }

    /// Records that the controller answered, if it did.
    fn heard<T>(&self, result: Result<Response<T>, Status>) -> Result<T, Status> {
        let answer = result?.into_inner();
        self.outages.answered();
        Ok(answer)
    }

    /// Whether this installation of the operator submitted the job.
    pub fn submitted(&self, job: &wire::Job) -> bool {
        request::mark(&job.idempotency_key) == &*self.installation
    }

    fn origin(&self) -> wire::ResourceRef {
        wire::ResourceRef { cluster: self.cluster.to_string(), ..wire::ResourceRef::default() }
    }
}

/// What a refused submission means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SubmissionRefusal {
    /// The request itself is wrong: no retry will be accepted.
    Final(Reason),
    /// An administrator can change what is in the way: scoring roots, a quota, a permission, a full store.
    Liftable(Reason),
    /// The controller is away, or does not know this operator.
    Outage,
}

fn submission_refusal(status: &Status) -> SubmissionRefusal {
    if let Some(reason) = refusal_for_now(status) {
        return SubmissionRefusal::Liftable(reason);
    }
    match (status.code(), RefusalReason::of(status)) {
        (_, Some(RefusalReason::OutsideScoringRoots)) => SubmissionRefusal::Liftable(Reason::InputRefused),
        (_, Some(RefusalReason::IdempotencyKeyReused)) | (Code::InvalidArgument, None) => {
            SubmissionRefusal::Final(Reason::Rejected)
        }
        (Code::ResourceExhausted, None) => SubmissionRefusal::Liftable(Reason::QuotaExceeded),
        _ => SubmissionRefusal::Outage,
    }
}

/// Why the controller refuses changes at the moment, whatever they ask for.
fn refusal_for_now(status: &Status) -> Option<Reason> {
    match (status.code(), RefusalReason::of(status)) {
        (_, Some(RefusalReason::StoreFull)) => Some(Reason::StoreFull),
        (_, Some(RefusalReason::LimitReached)) => Some(Reason::QuotaExceeded),
        // The operator is known, and lacks the role for this call.
        (Code::PermissionDenied, None) => Some(Reason::Forbidden),
        _ => None,
    }
}

fn explanation(reason: Reason, status: &Status) -> Explanation {
    Explanation { reason, message: status.message().to_owned() }
}

/// Whether no retry will make the controller accept a label. An older controller may not have the call at all.
fn is_label_rejection(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::NotFound
            | Code::Unimplemented
    )
}

/// The job without the fields that nothing reads.
pub fn trimmed(job: wire::Job) -> wire::Job {
    wire::Job { idempotency_key: String::new(), cursor: String::new(), ..job }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::invalid(
        Status::invalid_argument("scoring.model: is too long"),
        SubmissionRefusal::Final(Reason::Rejected)
    )]
    #[case::outside(
        RefusalReason::OutsideScoringRoots.status(Code::PermissionDenied, "outside"),
        SubmissionRefusal::Liftable(Reason::InputRefused)
    )]
    #[case::full(Status::resource_exhausted("too much"), SubmissionRefusal::Liftable(Reason::QuotaExceeded))]
    #[case::not_a_writer(
        Status::permission_denied("this call needs one of the roles vmafx:writer"),
        SubmissionRefusal::Liftable(Reason::Forbidden)
    )]
    #[case::no_token(Status::unauthenticated("invalid or missing token"), SubmissionRefusal::Outage)]
    #[case::down(Status::unavailable("down"), SubmissionRefusal::Outage)]
    #[case::no_store(
        RefusalReason::StoreUnavailable.status(Code::Unavailable, "no store"),
        SubmissionRefusal::Outage
    )]
    #[case::store_full(
        RefusalReason::StoreFull.status(Code::ResourceExhausted, "full"),
        SubmissionRefusal::Liftable(Reason::StoreFull)
    )]
    #[case::limit(
        vmafx_proto::refusal::limit_reached(vmafx_job::TenantLimit::PendingJobs, "at most 5"),
        SubmissionRefusal::Liftable(Reason::QuotaExceeded)
    )]
    #[case::key(
        RefusalReason::IdempotencyKeyReused.status(Code::AlreadyExists, "key"),
        SubmissionRefusal::Final(Reason::Rejected)
    )]
    fn only_a_wrong_request_ends_a_job(#[case] status: Status, #[case] expected: SubmissionRefusal) {
        assert_eq!(submission_refusal(&status), expected);
    }
}
