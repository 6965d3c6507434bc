//! Rules for `VmafxJob`.

use vmafx_api::VmafxJobSpec;
use vmafx_api::job::{Backend, Execution};
use vmafx_api::node::GpuVendor;
use vmafx_job::ReportFormat;

use super::location;
use super::pod_template::{self, TemplateTarget};
use super::violation::{FieldPath, Findings};
use crate::reserved::AGENT_NAMES;

pub fn check(spec: &VmafxJobSpec) -> Findings {
    let mut findings = Findings::default();
    let path = FieldPath::spec();
    location::uri(&path.field("reference"), &spec.reference, &mut findings);
    location::uri(&path.field("distorted"), &spec.distorted, &mut findings);
    if spec.reference == spec.distorted {
        findings.warn(&path.field("distorted"), "is the reference itself: the score will be close to 100");
    }
    if let Some(report) = &spec.report_uri {
        report_uri(&path.field("reportURI"), report, spec, &mut findings);
    }
    if let Some(model) = &spec.model {
        location::model(&path.field("model"), model, &mut findings);
    }
    if spec.ttl_seconds_after_finished == Some(0) && spec.report_uri.is_none() {
        let text = "the job is deleted as soon as it ends, and nobody keeps its score: set reportURI or a longer time";
        findings.warn(&path.field("ttlSecondsAfterFinished"), text);
    }
    if spec.ground_truth.is_some() && spec.execution == Execution::Pod {
        let text = "the controller does not know jobs with execution: Pod, so nothing learns from them: use execution: Queue";
        findings.warn(&path.field("groundTruth"), text);
    }
    if let Some(template) = &spec.pod_template {
        let vendor = vendor(spec.backend);
        let target = TemplateTarget { own: &AGENT_NAMES, restart_policy: "Never", stateful: false, vendor };
        pod_template::check(&path.field("podTemplate"), template, target, &mut findings);
    }
    findings
}

fn report_uri(path: &FieldPath, report: &str, spec: &VmafxJobSpec, findings: &mut Findings) {
    location::uri(path, report, findings);
    for (field, clip) in [("reference", &spec.reference), ("distorted", &spec.distorted)] {
        if report == clip {
            let advice = format!("the report would overwrite spec.{field}: choose another place");
            findings.invalid(path, report, advice);
            return;
        }
    }
    if let Err(error) = ReportFormat::of_uri(report) {
        findings.invalid(path, report, error.to_string());
    }
}

/// The vendor whose GPUs a backend uses.
pub fn vendor(backend: Backend) -> Option<GpuVendor> {
    match backend {
        Backend::Cpu => Some(GpuVendor::Cpu),
        Backend::Cuda => Some(GpuVendor::Nvidia),
        Backend::Sycl => Some(GpuVendor::Intel),
        Backend::Hip => Some(GpuVendor::Amd),
        // No Kubernetes node offers Metal devices.
        Backend::Metal => None,
    }
}
