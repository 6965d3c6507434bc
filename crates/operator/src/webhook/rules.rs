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

closed_label! {
    pub enum ReviewedKind: "kind" {
        Job = "VmafxJob",
        Node = "VmafxNode",
        Training = "VmafxModelTraining",
    }
}

const VENDORS: [&str; 4] = ["nvidia", "amd", "intel", "cpu"];

/// Validates `new`, which replaces `old` in an update.
pub fn validate(kind: ReviewedKind, old: Option<&DynamicObject>, new: &DynamicObject) -> Findings {
    // The finalizers of an object that is being deleted must be removable even if its spec is invalid.
    if old.is_some() && new.metadata.deletion_timestamp.is_some() {
        return Findings::default();
    }
    let spec = &new.data["spec"];
    let Some(before) = old.map(|old| &old.data["spec"]) else { return findings(kind, spec) };
    if before == spec {
        return Findings::default();
    }
    let mut after = findings(kind, spec);
    after.remove_existing(&findings(kind, before));
    after
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
