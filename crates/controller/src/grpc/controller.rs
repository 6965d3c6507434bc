//! `vmafx.controller.v1.VmafxController`.

use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use tonic::{Request, Response, Status};
use vmafx_kit::tls::ClientCertificate;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::convert::cancel_cause;

use super::{access, audited, caller, convert};
use crate::auth::certificates::check_registration;
use crate::service::Service;
use crate::service::request;

pub(super) struct Controller(pub(super) Service);

type RpcResult<T> = Result<Response<T>, Status>;
type Stream<T> = BoxStream<'static, Result<T, Status>>;

#[tonic::async_trait]
impl wire::vmafx_controller_server::VmafxController for Controller {
    type StreamJobsStream = Stream<wire::Job>;
    type StreamSamplesStream = Stream<wire::StreamSamplesResponse>;

    async fn submit_job(
        &self,
        request: Request<wire::SubmitJobRequest>,
    ) -> RpcResult<wire::SubmitJobResponse> {
        let (who, call) = (caller(&request)?, audited(&request));
        let submitted = self.0.submit(&who, convert::submit(request.into_inner())?).await?;
        call.job(submitted.id);
        let (job_id, deduplicated) = (submitted.id.to_string(), submitted.deduplicated);
        Ok(Response::new(wire::SubmitJobResponse { job_id, deduplicated }))
    }

    async fn get_job(&self, request: Request<wire::GetJobRequest>) -> RpcResult<wire::Job> {
        let who = caller(&request)?;
        let job = self.0.job(&who, &request.get_ref().job_id).await?;
        Ok(Response::new(convert::job(job)))
    }

    async fn cancel_job(
        &self,
        request: Request<wire::CancelJobRequest>,
    ) -> RpcResult<wire::CancelJobResponse> {
        let (who, call) = (caller(&request)?, audited(&request));
        let wire::CancelJobRequest { job_id, reason, cause } = request.into_inner();
        call.named_job(&job_id);
        self.0.cancel(&who, &job_id, cancel_cause(cause), &reason).await?;
        let message = "cancellation requested".to_owned();
        Ok(Response::new(wire::CancelJobResponse { ok: true, message }))
    }

    async fn stream_jobs(&self, request: Request<wire::StreamJobsRequest>) -> RpcResult<Stream<wire::Job>> {
        let (who, access) = (caller(&request)?, access(&request)?);
        let jobs: Stream<wire::Job> = match convert::stream_jobs(request.into_inner())? {
            convert::StreamJobs::Snapshot(filter) => {
                let jobs = self.0.snapshot(&who, filter)?;
                access.guard(jobs).map_ok(convert::job).map_err(Status::from).boxed()
            }
            convert::StreamJobs::Watch(watch) => {
                let changes = self.0.watch(&who, watch).await?;
                access.guard(changes).map_ok(convert::change).map_err(Status::from).boxed()
            }
        };
        Ok(Response::new(jobs))
    }

    async fn register_node(
        &self,
        request: Request<wire::RegisterNodeRequest>,
    ) -> RpcResult<wire::RegisterNodeResponse> {
        let (who, call) = (caller(&request)?, audited(&request));
        call.node(&request.get_ref().name);
        let resource = request.get_ref().resource.as_ref().map(|resource| resource.namespace.as_str());
        check_registration(request.extensions().get::<ClientCertificate>(), resource)?;
        let registered = self.0.register(&who, convert::register(request.into_inner())).await?;
        call.session(registered.credentials.session);
        Ok(Response::new(convert::registered(registered)))
    }

    async fn heartbeat(
        &self,
        request: Request<wire::HeartbeatRequest>,
    ) -> RpcResult<wire::HeartbeatResponse> {
        let (who, call) = (caller(&request)?, audited(&request));
        call.named_session(&request.get_ref().node_id);
        let reply = self.0.heartbeat(&who, convert::heartbeat(request.into_inner())).await?;
        let ok = reply.is_some();
        let reply = reply.unwrap_or_default();
        let (cancel_job_ids, lost_job_ids) = (reply.cancelled, reply.lost);
        Ok(Response::new(wire::HeartbeatResponse { ok, cancel_job_ids, lost_job_ids }))
    }

    async fn pull_work(&self, request: Request<wire::PullWorkRequest>) -> RpcResult<wire::PullWorkResponse> {
        let (who, call) = (caller(&request)?, audited(&request));
        call.named_session(&request.get_ref().node_id);
        let delivery = self.0.pull(&who, convert::pull(request.into_inner())).await?;
        // There is no await between the delivery and the response. If the caller is gone by
        // now, the node names this pull as lost, or the lease expires.
        let assigned = delivery.and_then(crate::service::Delivery::deliver);
        let job = assigned.map(|assigned| {
            call.job(assigned.job.id);
            convert::assigned_job(assigned)
        });
        Ok(Response::new(wire::PullWorkResponse { job }))
    }

    async fn report_result(
        &self,
        request: Request<wire::ReportResultRequest>,
    ) -> RpcResult<wire::ReportResultResponse> {
        let (who, call) = (caller(&request)?, audited(&request));
        call.named_job(&request.get_ref().job_id);
        call.named_session(&request.get_ref().node_id);
        self.0.report(&who, convert::report(request.into_inner())).await?;
        Ok(Response::new(wire::ReportResultResponse { ok: true }))
    }

    async fn release_job(
        &self,
        request: Request<wire::ReleaseJobRequest>,
    ) -> RpcResult<wire::ReleaseJobResponse> {
        let (who, call) = (caller(&request)?, audited(&request));
        call.named_job(&request.get_ref().job_id);
        call.named_session(&request.get_ref().node_id);
        let ok = self.0.release(&who, convert::release(request.into_inner())).await?;
        Ok(Response::new(wire::ReleaseJobResponse { ok }))
    }

    async fn label_job(&self, request: Request<wire::LabelJobRequest>) -> RpcResult<wire::LabelJobResponse> {
        let (who, call) = (caller(&request)?, audited(&request));
        if let Some(wire::label_job_request::Target::JobId(id)) = &request.get_ref().target {
            call.named_job(id);
        }
        let labelled = self.0.label(&who, convert::label_job(request.into_inner())?).await?;
        call.job(labelled.job);
        let (job_id, sampled) = (labelled.job.to_string(), labelled.sampled);
        Ok(Response::new(wire::LabelJobResponse { job_id, sampled }))
    }

    async fn stream_samples(
        &self,
        request: Request<wire::StreamSamplesRequest>,
    ) -> RpcResult<Stream<wire::StreamSamplesResponse>> {
        let (who, access) = (caller(&request)?, access(&request)?);
        let wire::StreamSamplesRequest { cursor, follow, node_selector } = request.into_inner();
        let samples = self.0.samples(&who, request::StreamSamples { cursor, follow, node_selector }).await?;
        Ok(Response::new(access.guard(samples).map_ok(convert::sample).map_err(Status::from).boxed()))
    }

    async fn explain(&self, request: Request<wire::ExplainRequest>) -> RpcResult<wire::ExplainResponse> {
        let who = caller(&request)?;
        let explanation = self.0.explain(&who, &request.get_ref().job_id).await?;
        Ok(Response::new(convert::explanation(explanation)))
    }

    async fn list_jobs(&self, request: Request<wire::ListJobsRequest>) -> RpcResult<wire::ListJobsResponse> {
        let who = caller(&request)?;
        let page = self.0.jobs(&who, convert::list_jobs(request.into_inner())?).await?;
        let jobs = page.jobs.into_iter().map(convert::job).collect();
        Ok(Response::new(wire::ListJobsResponse { jobs, next_page_token: page.next }))
    }

    async fn update_job(
        &self,
        request: Request<wire::UpdateJobRequest>,
    ) -> RpcResult<wire::UpdateJobResponse> {
        let (who, call) = (caller(&request)?, audited(&request));
        call.named_job(&request.get_ref().job_id);
        let (id, update) = convert::update(request.into_inner())?;
        let updated = self.0.update(&who, &id, update).await?;
        let (job, changed) = (Some(convert::job(updated.job)), updated.changed);
        Ok(Response::new(wire::UpdateJobResponse { job, changed }))
    }

    async fn list_nodes(
        &self,
        request: Request<wire::ListNodesRequest>,
    ) -> RpcResult<wire::ListNodesResponse> {
        let who = caller(&request)?;
        let nodes = self.0.nodes(&who).await?.into_iter().map(convert::node).collect();
        Ok(Response::new(wire::ListNodesResponse { nodes }))
    }
}

/// A duration that does not fit becomes the longest one.
pub(super) fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
