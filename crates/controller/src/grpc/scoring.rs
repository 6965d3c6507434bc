//! `vmafx.v1.VmafxScoring`.

use futures::stream::BoxStream;
use tonic::{Request, Response, Status, Streaming};
use vmafx_proto::scoring::v1 as wire;

use super::{audited, caller, convert};
use crate::service::Service;

/// Direct scores: each is a job with a waiting caller.
pub(super) struct Scoring(pub(super) Service);

#[tonic::async_trait]
impl wire::vmafx_scoring_server::VmafxScoring for Scoring {
    type ScoreStreamStream = BoxStream<'static, Result<wire::ScoreStreamResponse, Status>>;

    async fn score(
        &self,
        request: Request<wire::ScoreRequest>,
    ) -> Result<Response<wire::ScoreResponse>, Status> {
        let (who, call) = (caller(&request)?, audited(&request));
        let scoring = convert::score(request.into_inner())?;
        let job = self.0.score_and_wait(&who, scoring).await.map_err(convert::rename_field)?;
        call.job(job.id);
        let (state, reason, error) = (job.state, job.failure_reason, job.error.clone());
        match convert::scored(job) {
            Some(scored) => Ok(Response::new(scored)),
            None => Err(convert::not_scored(state, reason, &error)),
        }
    }

    async fn score_stream(
        &self,
        request: Request<Streaming<wire::ScoreStreamRequest>>,
    ) -> Result<Response<Self::ScoreStreamStream>, Status> {
        caller(&request)?;
        let text = "the controller does not score frames; call ScoreStream on a node, or Score with the addresses of clips";
        Err(Status::failed_precondition(text))
    }

    async fn health(
        &self,
        request: Request<wire::HealthRequest>,
    ) -> Result<Response<wire::HealthResponse>, Status> {
        let who = caller(&request)?;
        let (ok, message) = match self.0.can_score(&who).await {
            Ok(()) => (true, String::new()),
            Err(problem) => (false, problem),
        };
        Ok(Response::new(wire::HealthResponse { ok, message }))
    }
}
