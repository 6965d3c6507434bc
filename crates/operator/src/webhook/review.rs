//! Decodes an `AdmissionReview` and answers it. A review that cannot be decoded is answered by a review too, because the
//! API server shows the message of a review to the user, but not that of an HTTP error.

use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation};
use kube::core::response::{StatusCause, StatusDetails, StatusSummary};
use serde_json::Value;
use vmafx_kit::closed_label;
use vmafx_kit::metrics::MetricLabel;

use super::access::{AccessDecision, AccessReviewer, needed};
use super::rules::{self, Findings, ReviewedKind, Violation};
use crate::template_policy::TemplatePolicy;

/// Violations in an answer; further ones are only counted.
const MAX_VIOLATIONS: usize = 20;

/// Warnings in an answer. The API server truncates them at 4 KiB in total.
const MAX_WARNINGS: usize = 10;

closed_label! {
    pub enum ReviewOutcome: "outcome" {
        Allowed = "allowed",
        Refused = "refused",
        /// The author lacks a permission.
        Forbidden = "forbidden",
        /// The permissions of the author could not be found out.
        Failed = "failed",
        Malformed = "malformed",
    }
}

/// What a review needs besides the rules.
#[derive(Clone)]
pub struct Reviewer {
    pub templates: TemplatePolicy,
    pub access: AccessReviewer,
}

pub async fn answer(
    reviewer: &Reviewer,
    kind: ReviewedKind,
    body: &[u8],
) -> (AdmissionReview<DynamicObject>, ReviewOutcome) {
    let (response, outcome) = match decode(body) {
        Ok(request) => reviewer.review(kind, &request).await,
        Err(malformed) => (*malformed, ReviewOutcome::Malformed),
    };
    (response.into_review(), outcome)
}

/// The answer to a review that was not received or cannot be decoded.
pub fn malformed(uid: &str, message: &str) -> AdmissionResponse {
    let mut response = AdmissionResponse::invalid(message);
    uid.clone_into(&mut response.uid);
    response.result.code = 400;
    "BadRequest".clone_into(&mut response.result.reason);
    response
}

fn decode(body: &[u8]) -> Result<AdmissionRequest<DynamicObject>, Box<AdmissionResponse>> {
    let error = match serde_json::from_slice::<AdmissionReview<DynamicObject>>(body) {
        Ok(review) => match review.try_into() {
            Ok(request) => return Ok(request),
            Err(_) => "it has no request".to_owned(),
        },
        Err(error) => error.to_string(),
    };
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let uid = document["request"]["uid"].as_str().unwrap_or_default();
    Err(Box::new(malformed(uid, &format!("this is not an AdmissionReview of admission.k8s.io/v1: {error}"))))
}

impl Reviewer {
    async fn review(
        &self,
        kind: ReviewedKind,
        request: &AdmissionRequest<DynamicObject>,
    ) -> (AdmissionResponse, ReviewOutcome) {
        let (requested, expected) = (&request.kind, kind.value());
        if requested.group != vmafx_api::GROUP || requested.kind != expected {
            let message = format!(
                "this path reviews {expected}.{}, not {}.{}",
                vmafx_api::GROUP,
                requested.kind,
                requested.group
            );
            return (malformed(&request.uid, &message), ReviewOutcome::Malformed);
        }
        let response = AdmissionResponse::from(request);
        if matches!(request.operation, Operation::Delete | Operation::Connect) {
            return (response, ReviewOutcome::Allowed);
        }
        let Some(new) = &request.object else {
            return (malformed(&request.uid, "the review has no object"), ReviewOutcome::Malformed);
        };
        let namespace = request.namespace.as_deref().unwrap_or_default();
        let old = request.old_object.as_ref();
        let findings = rules::validate(kind, namespace, old, new, &self.templates);
        // A name that is still to be generated is shown by its prefix.
        let name = new.metadata.name.as_ref().or(new.metadata.generate_name.as_ref());
        let name = name.map_or("", String::as_str);
        let (response, outcome) = respond(response, kind, name, findings);
        let Some(needed) = needed(kind, old, new).filter(|_| outcome == ReviewOutcome::Allowed) else {
            return (response, outcome);
        };
        match self.access.review(&request.user_info, namespace, &needed).await {
            AccessDecision::Permitted => (response, outcome),
            AccessDecision::Denied(why) => {
                let message = format!("{}.{} \"{name}\" is forbidden: {why}", kind.value(), vmafx_api::GROUP);
                (denied(response, message, 403, "Forbidden"), ReviewOutcome::Forbidden)
            }
            AccessDecision::Unknown(why) => {
                let message =
                    format!("{}.{} \"{name}\" is not accepted: {why}", kind.value(), vmafx_api::GROUP);
                (denied(response, message, 500, "InternalError"), ReviewOutcome::Failed)
            }
        }
    }
}

fn denied(response: AdmissionResponse, message: String, code: u16, reason: &str) -> AdmissionResponse {
    let mut response = response.deny(message);
    response.result.status = Some(StatusSummary::Failure);
    response.result.code = code;
    reason.clone_into(&mut response.result.reason);
    response
}

fn respond(
    mut response: AdmissionResponse,
    kind: ReviewedKind,
    name: &str,
    findings: Findings,
) -> (AdmissionResponse, ReviewOutcome) {
    let Findings { violations, mut warnings } = findings;
    warnings.truncate(MAX_WARNINGS);
    response.warnings = Some(warnings).filter(|warnings| !warnings.is_empty());
    if violations.is_empty() {
        return (response, ReviewOutcome::Allowed);
    }
    let mut response = denied(response, message(kind, name, &violations), 422, "Invalid");
    response.result.details = Some(StatusDetails {
        name: name.to_owned(),
        group: vmafx_api::GROUP.to_owned(),
        kind: kind.value().to_owned(),
        uid: String::new(),
        causes: violations.iter().take(MAX_VIOLATIONS).map(cause).collect(),
        retry_after_seconds: 0,
    });
    (response, ReviewOutcome::Refused)
}

/// In the format of the API server for its own kinds.
fn message(kind: ReviewedKind, name: &str, violations: &[Violation]) -> String {
    let mut texts: Vec<_> = violations.iter().take(MAX_VIOLATIONS).map(ToString::to_string).collect();
    if let Some(more) = violations.len().checked_sub(MAX_VIOLATIONS).filter(|more| *more > 0) {
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
        reason: violation.class.reason().to_owned(),
        message: violation.message.clone(),
        field: violation.field.clone(),
    }
}

#[cfg(test)]
pub(super) mod tests;
