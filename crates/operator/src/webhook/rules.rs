//! The validation rules: which specs are refused, and which get a warning. No client, no clock.
//!
//! The API server has checked an object against the schema and the CEL rules of its CRD before it calls the webhook. The
//! rules here check what those cannot express: whether a URI can be read, whether a partial Pod template decodes, whether
//! requests and limits agree. The vendors are checked again, for a cluster whose CRDs are older than the operator.
//!
//! An update is refused only for violations that it introduces: an unchanged spec is never refused, however strict the
//! rules have become, and neither is a violation that the old spec already had.

pub mod job;
mod labels;
mod location;
pub mod node;
mod pod_template;
mod resources;
mod tolerations;
pub mod training;
mod violation;

use kube::core::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vmafx_kit::closed_label;

pub use violation::{FieldPath, Findings, Violation, ViolationType};

use crate::template_policy::{PodRole, TemplatePolicy, TemplateViolation};

closed_label! {
    pub enum ReviewedKind: "kind" {
        Job = "VmafxJob",
        Node = "VmafxNode",
        Training = "VmafxModelTraining",
    }
}

impl ReviewedKind {
    /// The Pods of an object with this spec; `None` if the operator renders none.
    pub fn pods(self, spec: &Value) -> Option<PodRole> {
        match self {
            Self::Job => (spec["execution"] == "Pod").then_some(PodRole::Job),
            Self::Node => (spec["managementPolicy"] != "External").then_some(PodRole::Worker),
            Self::Training => Some(PodRole::Trainer),
        }
    }
}

const VENDORS: [&str; 4] = ["nvidia", "amd", "intel", "cpu"];

/// Validates `new`, which replaces `old` in an update of this namespace.
pub fn validate(
    kind: ReviewedKind,
    namespace: &str,
    old: Option<&DynamicObject>,
    new: &DynamicObject,
    policy: &TemplatePolicy,
) -> Findings {
    // The finalizers of an object that is being deleted must be removable even if its spec is invalid.
    if old.is_some() && new.metadata.deletion_timestamp.is_some() {
        return Findings::default();
    }
    let spec = &new.data["spec"];
    let findings = |spec| {
        let mut findings = findings(kind, spec);
        templates(kind, namespace, spec, policy, &mut findings);
        findings
    };
    let Some(before) = old.map(|old| &old.data["spec"]) else { return findings(spec) };
    if before == spec {
        return Findings::default();
    }
    let mut after = findings(spec);
    after.remove_existing(&findings(before));
    after
}

/// Reports what a Pod template uses and may not.
fn templates(
    kind: ReviewedKind,
    namespace: &str,
    spec: &Value,
    policy: &TemplatePolicy,
    findings: &mut Findings,
) {
    let Some(role) = kind.pods(spec) else { return };
    let template =
        spec["podTemplate"].as_object().map(|template| policy.violations(namespace, role, template));
    let registry = spec["registrySecret"].as_str().map(|name| policy.registry(namespace, name));
    for TemplateViolation { field, advice } in template.into_iter().chain(registry).flatten() {
        findings.forbidden(&field, advice);
    }
}

fn findings(kind: ReviewedKind, spec: &Value) -> Findings {
    match kind {
        ReviewedKind::Job => decoded(spec, job::check),
        ReviewedKind::Node => match &spec["gpuVendor"] {
            Value::String(vendor) if !VENDORS.contains(&vendor.as_str()) => {
                let mut findings = Findings::default();
                findings.unsupported(&FieldPath::spec().field("gpuVendor"), vendor.as_str(), &VENDORS);
                findings
            }
            _ => decoded(spec, node::check),
        },
        ReviewedKind::Training => decoded(spec, training::check),
    }
}

/// A spec that the schema accepts fails to decode only if the CRD is from another release than the operator.
fn decoded<S: DeserializeOwned>(spec: &Value, check: fn(&S) -> Findings) -> Findings {
    match serde_json::from_value(spec.clone()) {
        Ok(spec) => check(&spec),
        Err(error) => {
            let mut findings = Findings::default();
            findings.invalid(
                &FieldPath::spec(),
                "object",
                format!("this release of the operator cannot decode it: {error}"),
            );
            findings
        }
    }
}

#[cfg(test)]
mod tests;
