//! `POST /v1/score`: submits a job and waits for its score.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use vmafx_job::ScoringRequest;
use vmafx_queue::transition::State as JobState;

use super::extract::{Audited, Body, Caller};
use super::problem;
use super::shape::{Score, ScoreRequest};
use crate::refusal::Refusal;
use crate::service::Service;

pub(super) async fn score(
    State(service): State<Service>,
    Caller(who): Caller,
    Audited(call): Audited,
    Body(body): Body<ScoreRequest>,
) -> Result<Response, Refusal> {
    let ScoreRequest { reference, distorted, model } = body;
    let model = (!model.is_empty()).then_some(model);
    let scoring = ScoringRequest { reference, distorted, model, ..ScoringRequest::default() };
    let job = service.score_and_wait(&who, scoring).await?;
    call.job(job.id);
    if let Some(success) = job.result {
        return Ok(Json(Score { score: success.score, features: success.features }).into_response());
    }
    let text = match (job.state, job.error.is_empty()) {
        (JobState::Cancelled, _) => "the job was cancelled".to_owned(),
        (_, true) => "scoring failed".to_owned(),
        (_, false) => job.error,
    };
    Ok(problem::response(StatusCode::INTERNAL_SERVER_ERROR, text))
}
