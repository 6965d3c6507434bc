//! Handlers for jobs.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use vmafx_job::CancelCause;

use super::extract::{Audited, Body, Caller, Id, OptionalBody, Query};
use super::shape::{
    AttemptList, CancelJob, Explanation, Job, JobList, LabelJob, Labelled, ListQuery, SubmitJob, Submitted,
    UpdateJob,
};
use crate::refusal::Refusal;
use crate::service::Service;
use crate::service::request::{self, JobRef};

pub(super) async fn list(
    State(service): State<Service>,
    Caller(who): Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<JobList>, Refusal> {
    let page = service.jobs(&who, query.try_into()?).await?;
    Ok(Json(JobList { jobs: page.jobs.iter().map(Job::from).collect(), next_page_token: page.next }))
}

pub(super) async fn submit(
    State(service): State<Service>,
    Caller(who): Caller,
    Audited(call): Audited,
    Body(body): Body<SubmitJob>,
) -> Result<(StatusCode, Json<Submitted>), Refusal> {
    let submitted = service.submit(&who, body.into()).await?;
    call.job(submitted.id);
    let status = if submitted.deduplicated { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(Submitted { id: submitted.id.0, deduplicated: submitted.deduplicated })))
}

pub(super) async fn get(
    State(service): State<Service>,
    Caller(who): Caller,
    Id(id): Id,
) -> Result<Json<Job>, Refusal> {
    Ok(Json((&service.job(&who, &id).await?).into()))
}

pub(super) async fn attempts(
    State(service): State<Service>,
    Caller(who): Caller,
    Id(id): Id,
) -> Result<Json<AttemptList>, Refusal> {
    let attempts = service.attempts(&who, &id).await?;
    Ok(Json(AttemptList { attempts: attempts.into_iter().map(Into::into).collect() }))
}

pub(super) async fn explain(
    State(service): State<Service>,
    Caller(who): Caller,
    Id(id): Id,
) -> Result<Json<Explanation>, Refusal> {
    Ok(Json(service.explain(&who, &id).await?.into()))
}

pub(super) async fn update(
    State(service): State<Service>,
    Caller(who): Caller,
    Id(id): Id,
    Body(body): Body<UpdateJob>,
) -> Result<Json<Job>, Refusal> {
    let updated = service.update(&who, &id, body.into()).await?;
    if updated.job.state.is_final() {
        return Err(Refusal::Conflict(format!(
            "job {id:?} is finished and cannot be changed; submit a new job instead"
        )));
    }
    Ok(Json((&updated.job).into()))
}

pub(super) async fn cancel(
    State(service): State<Service>,
    Caller(who): Caller,
    Id(id): Id,
    OptionalBody(body): OptionalBody<CancelJob>,
) -> Result<Json<Job>, Refusal> {
    Ok(Json((&service.cancel(&who, &id, CancelCause::Requested, &body.reason).await?).into()))
}

pub(super) async fn label(
    State(service): State<Service>,
    Caller(who): Caller,
    Id(id): Id,
    Body(body): Body<LabelJob>,
) -> Result<Json<Labelled>, Refusal> {
    let request = request::LabelJob { job: JobRef::JobId(id), ground_truth: body.into() };
    let labelled = service.label(&who, request).await.map_err(|refusal| match refusal {
        // In this body the fields of the ground truth are at the top level.
        Refusal::Invalid { field, problem } => {
            Refusal::invalid(field.strip_prefix("ground_truth.").unwrap_or(&field), problem)
        }
        other => other,
    })?;
    Ok(Json(Labelled { id: labelled.job.0, sampled: labelled.sampled }))
}
