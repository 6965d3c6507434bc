//! What is refused before it is stored, and what is warned about. No client, no clock.
//!
//! Schema and CEL of the definitions have spoken before a webhook is asked; these rules say what they cannot: whether
//! an address can be read, whether a partial Pod template is one, whether limits and requests agree. The seeds' rules
//! are here too, so that they hold where the definitions are older than the operator.
//!
//! A change is judged by what it changes: an unchanged spec is never refused, however strict the rules became, and
//! neither is what was wrong before the change.

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
    /// A kind that has rules.
    pub enum ReviewedKind: "kind" {
        /// One pair of clips.
        Job = "VmafxJob",
        /// WorkerCounts.
        Node = "VmafxNode",
        /// A model that learns.
        Training = "VmafxModelTraining",
    }
}

/// The vendors, as the definition lists them.
const VENDORS: [&str; 4] = ["nvidia", "amd", "intel", "cpu"];

/// What is to be said about `new`, which takes the place of `old` if that is given.
pub fn judge(kind: ReviewedKind, old: Option<&DynamicObject>, new: &DynamicObject) -> Findings {
    // What is being deleted must be able to lose its finalizers, whatever else is wrong with it.
    if old.is_some() && new.metadata.deletion_timestamp.is_some() {
        return Findings::default();
    }
    let spec = &new.data["spec"];
    let Some(before) = old.map(|old| &old.data["spec"]) else { return findings(kind, spec) };
    if before == spec {
        return Findings::default();
    }
    let mut after = findings(kind, spec);
    after.forgive(&findings(kind, before));
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

/// The schema lets nothing through that does not decode, unless it is another release's.
fn decoded<S: DeserializeOwned>(spec: &Value, check: fn(&S) -> Findings) -> Findings {
    match serde_json::from_value(spec.clone()) {
        Ok(spec) => check(&spec),
        Err(error) => {
            let mut findings = Findings::default();
            findings.invalid(
                &FieldPath::spec(),
                "object",
                format!("this release of the operator cannot read it: {error}"),
            );
            findings
        }
    }
}

#[cfg(test)]
mod tests;
