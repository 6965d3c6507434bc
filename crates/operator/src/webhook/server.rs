//! The HTTP routes and limits of the webhooks.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::post;
use axum::{Json, Router};
use kube::core::DynamicObject;
use kube::core::admission::AdmissionReview;
use vmafx_kit::metrics::{CounterBy, LabelSet, MetricLabel, Metrics};
use vmafx_kit::serve::HttpLimits;

use super::review::{self, ReviewOutcome, Reviewer};
use super::rules::ReviewedKind;

/// A review contains the old and the new object, each of which etcd limits to 1.5 MiB; in JSON they may be larger.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// The API server's own timeout (`timeoutSeconds` of the configuration): a later answer is useless.
const TIMEOUT: Option<Duration> = Some(Duration::from_secs(5));

#[derive(Clone, Debug)]
pub struct AdmissionMetrics(CounterBy<(ReviewedKind, ReviewOutcome)>);

impl AdmissionMetrics {
    pub fn new(metrics: &mut Metrics) -> Self {
        Self(metrics.counter_by(
            "operator_admissions",
            "Reviews answered; a malformed one was probably not sent by an API server",
        ))
    }
}

/// The path of the webhook of a kind, by the convention of kubebuilder.
pub fn path(kind: ReviewedKind) -> String {
    format!("/validate-vmafx-dev-v1-{}", kind.value().to_lowercase())
}

pub fn router(metrics: AdmissionMetrics, reviewer: Reviewer) -> Router {
    let router = ReviewedKind::all().into_iter().fold(Router::new(), |router, kind| {
        let handler = move |State((metrics, reviewer)): State<(AdmissionMetrics, Reviewer)>,
                            body: Result<Bytes, BytesRejection>| async move {
            Json(answer(kind, body, &metrics, &reviewer).await)
        };
        router.route(&path(kind), post(handler))
    });
    router.layer(DefaultBodyLimit::max(MAX_BODY_BYTES)).with_state((metrics, reviewer))
}

async fn answer(
    kind: ReviewedKind,
    body: Result<Bytes, BytesRejection>,
    metrics: &AdmissionMetrics,
    reviewer: &Reviewer,
) -> AdmissionReview<DynamicObject> {
    let (review, outcome) = match body {
        Ok(body) => review::answer(reviewer, kind, &body).await,
        Err(error) => {
            let message = format!("the review could not be read: {}", error.body_text());
            (review::malformed("", &message).into_review(), ReviewOutcome::Malformed)
        }
    };
    metrics.0.get_or_create(&LabelSet((kind, outcome))).inc();
    if let Some(response) = review.response.as_ref().filter(|response| !response.allowed) {
        tracing::debug!(kind = kind.value(), refusal = response.result.message, "refused a review");
    }
    review
}

/// The API server closes idle connections after 90 seconds. It must be the first to close one: otherwise it may send a
/// review on a connection that this server is closing.
pub(super) fn limits() -> HttpLimits {
    HttpLimits {
        read: TIMEOUT,
        write: TIMEOUT,
        idle: Some(Duration::from_mins(5)),
        header_bytes: 64 * 1024,
        connections: 1024,
        ..HttpLimits::default()
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::{Request, StatusCode};
    use http_body_util::BodyExt;
    use serde_json::Value;
    use tower::ServiceExt;

    use super::*;

    async fn ask(body: Vec<u8>) -> (StatusCode, Value, String) {
        let mut metrics = Metrics::new("1");
        let router = router(AdmissionMetrics::new(&mut metrics), review::tests::reviewer());
        let request = Request::post("/validate-vmafx-dev-v1-vmafxjob").body(Body::from(body)).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap(), metrics.encode().unwrap())
    }

    #[tokio::test]
    async fn a_malformed_review_gets_a_review_and_is_counted() {
        let (status, review, metrics) = ask(br#"{"request":{"uid":"u"}}"#.to_vec()).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(review["kind"], "AdmissionReview");
        assert_eq!(
            (&review["response"]["uid"], &review["response"]["allowed"]),
            (&"u".into(), &false.into())
        );
        let line = "vmafx_operator_admissions_total{kind=\"VmafxJob\",outcome=\"malformed\"} 1";
        assert!(metrics.contains(line), "{metrics}");
    }

    #[tokio::test]
    async fn a_review_that_is_too_large_gets_a_review() {
        let (status, review, _) = ask(vec![b' '; MAX_BODY_BYTES + 1]).await;
        assert_eq!(status, StatusCode::OK);
        let message = review["response"]["status"]["message"].as_str().unwrap();
        assert!(message.starts_with("the review could not be read: "), "{message}");
    }
}
