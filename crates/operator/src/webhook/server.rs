//! The server that the API server asks.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::post;
use axum::{Json, Router};
use kube::core::DynamicObject;
use kube::core::admission::AdmissionReview;
use std::time::Duration;
use vmafx_kit::metrics::{By, CounterBy, Label, Metrics};
use vmafx_kit::serve::HttpLimits;

use super::review::{self, Outcome};
use super::rules::Kind;

/// Most bytes of a review: the old and the new object, each of which etcd limits to 1.5 MiB, written less tightly.
const BODY: usize = 8 * 1024 * 1024;

/// The API server waits 5 seconds for an answer, so longer waits for its question help nobody.
const WITHIN: Option<Duration> = Some(Duration::from_secs(5));

/// What is counted about reviews.
#[derive(Clone, Debug)]
pub struct AdmissionMetrics(CounterBy<(Kind, Outcome)>);

impl AdmissionMetrics {
    /// Makes them.
    pub fn new(metrics: &mut Metrics) -> Self {
        Self(metrics.counter_by(
            "operator_admissions",
            "Reviews answered; malformed ones mean that something other than an API server asks",
        ))
    }
}

/// Where reviews of a kind are sent, named as kubebuilder names it.
pub fn path(kind: Kind) -> String {
    format!("/validate-vmafx-dev-v1-{}", kind.value().to_lowercase())
}

/// Answers reviews of every kind.
pub fn router(metrics: AdmissionMetrics) -> Router {
    let router =
        Kind::all().into_iter().fold(Router::new(), |router, kind| {
            let judge = move |State(metrics): State<AdmissionMetrics>,
                              body: Result<Bytes, BytesRejection>| async move {
                Json(answer(kind, body, &metrics))
            };
            router.route(&path(kind), post(judge))
        });
    router.layer(DefaultBodyLimit::max(BODY)).with_state(metrics)
}

fn answer(
    kind: Kind,
    body: Result<Bytes, BytesRejection>,
    metrics: &AdmissionMetrics,
) -> AdmissionReview<DynamicObject> {
    let (review, outcome) = match body {
        Ok(body) => review::answer(kind, &body),
        Err(error) => {
            let message = format!("the review could not be read: {}", error.body_text());
            (review::malformed("", &message).into_review(), Outcome::Malformed)
        }
    };
    metrics.0.get_or_create(&By((kind, outcome))).inc();
    if let Some(response) = review.response.as_ref().filter(|response| !response.allowed) {
        tracing::debug!(kind = kind.value(), message = response.result.message, "refused");
    }
    review
}

/// What the API server may take of us. It closes resting connections after 90 seconds itself; it must be the first,
/// lest it sends a review down a connection that we are closing.
pub(super) fn limits() -> HttpLimits {
    HttpLimits {
        read: WITHIN,
        write: WITHIN,
        idle: Some(Duration::from_mins(5)),
        header_bytes: 64 * 1024,
        connections: 1024,
        ..HttpLimits::default()
    }
}
