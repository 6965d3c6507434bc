//! From the bytes of a review to the bytes of its answer. A review that cannot be read is answered by a review too:
//! the API server shows its message to whoever sent the object, which it does not do with an HTTP error.

use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation};
use kube::core::response::{StatusCause, StatusDetails, StatusSummary};
use serde_json::Value;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::MetricLabel;

use super::rules::{self, Findings, ReviewedKind, Violation};

/// Violations that are listed; the rest is counted.
const LISTED: usize = 20;

/// Warnings that are passed on. The API server cuts the sum of them at 4 KiB.
const WARNINGS: usize = 10;

closed_label! {
    /// How a review ended.
    pub enum ReviewOutcome: "outcome" {
        /// The object may be stored.
        Allowed = "allowed",
        /// A rule is broken.
        Refused = "refused",
        /// The review could not be understood.
        Malformed = "malformed",
    }
}

/// Judges a review of objects of this kind.
pub fn answer(kind: ReviewedKind, body: &[u8]) -> (AdmissionReview<DynamicObject>, ReviewOutcome) {
    let (response, outcome) = match read(body) {
        Ok(request) => judged(kind, &request),
        Err(malformed) => (*malformed, ReviewOutcome::Malformed),
    };
    (response.into_review(), outcome)
}

/// The answer to a review that did not arrive, or cannot be read.
pub fn malformed(uid: &str, message: &str) -> AdmissionResponse {
    let mut response = AdmissionResponse::invalid(message);
    uid.clone_into(&mut response.uid);
    response.result.code = 400;
    "BadRequest".clone_into(&mut response.result.reason);
    response
}

fn read(body: &[u8]) -> Result<AdmissionRequest<DynamicObject>, Box<AdmissionResponse>> {
    let error = match serde_json::from_slice::<AdmissionReview<DynamicObject>>(body) {
        Ok(review) => match review.try_into() {
            Ok(request) => return Ok(request),
            Err(_) => "it holds no request".to_owned(),
        },
        Err(error) => error.to_string(),
    };
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let uid = document["request"]["uid"].as_str().unwrap_or_default();
    Err(Box::new(malformed(uid, &format!("this is no AdmissionReview of admission.k8s.io/v1: {error}"))))
}

fn judged(
    kind: ReviewedKind,
    request: &AdmissionRequest<DynamicObject>,
) -> (AdmissionResponse, ReviewOutcome) {
    let (asked, known) = (&request.kind, kind.value());
    if asked.group != vmafx_api::GROUP || asked.kind != known {
        let message =
            format!("this path judges {known}.{}, not {}.{}", vmafx_api::GROUP, asked.kind, asked.group);
        return (malformed(&request.uid, &message), ReviewOutcome::Malformed);
    }
    let response = AdmissionResponse::from(request);
    if matches!(request.operation, Operation::Delete | Operation::Connect) {
        return (response, ReviewOutcome::Allowed);
    }
    let Some(new) = &request.object else {
        return (malformed(&request.uid, "the review holds no object"), ReviewOutcome::Malformed);
    };
    let findings = rules::judge(kind, request.old_object.as_ref(), new);
    // A name that is still to be generated is shown by what it will begin with.
    let name = new.metadata.name.as_ref().or(new.metadata.generate_name.as_ref());
    with(response, kind, name.map_or("", String::as_str), findings)
}

fn with(
    mut response: AdmissionResponse,
    kind: ReviewedKind,
    name: &str,
    findings: Findings,
) -> (AdmissionResponse, ReviewOutcome) {
    let Findings { violations, mut warnings } = findings;
    warnings.truncate(WARNINGS);
    response.warnings = Some(warnings).filter(|warnings| !warnings.is_empty());
    if violations.is_empty() {
        return (response, ReviewOutcome::Allowed);
    }
    let mut response = response.deny(message(kind, name, &violations));
    response.result.status = Some(StatusSummary::Failure);
    response.result.code = 422;
    "Invalid".clone_into(&mut response.result.reason);
    response.result.details = Some(StatusDetails {
        name: name.to_owned(),
        group: vmafx_api::GROUP.to_owned(),
        kind: kind.value().to_owned(),
        uid: String::new(),
        causes: violations.iter().take(LISTED).map(cause).collect(),
        retry_after_seconds: 0,
    });
    (response, ReviewOutcome::Refused)
}

/// As the API server says it of its own kinds.
fn message(kind: ReviewedKind, name: &str, violations: &[Violation]) -> String {
    let mut texts: Vec<_> = violations.iter().take(LISTED).map(ToString::to_string).collect();
    if let Some(more) = violations.len().checked_sub(LISTED).filter(|more| *more > 0) {
        texts.push(format!("and {more} more"));
    }
    let list = match &texts[..] {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    format!("{}.{} \"{name}\" is invalid: {list}", kind.value(), vmafx_api::GROUP)
}

fn cause(violation: &Violation) -> StatusCause {
    StatusCause {
        reason: violation.flaw.reason().to_owned(),
        message: violation.message.clone(),
        field: violation.field.clone(),
    }
}

#[cfg(test)]
mod tests;
