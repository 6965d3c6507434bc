//! Rules for `VmafxNode`.

use vmafx_api::VmafxNodeSpec;

use super::pod_template::{self, TemplateTarget};
use super::violation::{FieldPath, Findings};
use super::{labels, location, resources, tolerations};
use crate::reserved::AGENT_NAMES;

pub fn check(spec: &VmafxNodeSpec) -> Findings {
    let mut findings = Findings::default();
    let path = FieldPath::spec();
    if let Some(image) = &spec.image {
        location::image(&path.field("image"), image, &mut findings);
    }
    if let Some(resources) = &spec.resources {
        resources::check(&path.field("resources"), resources, Some(spec.gpu_vendor), &mut findings);
    }
    if let Some(selector) = &spec.node_selector {
        labels::check(&path.field("nodeSelector"), selector, &mut findings);
    }
    tolerations::check(
        &path.field("tolerations"),
        spec.tolerations.as_deref().unwrap_or_default(),
        &mut findings,
    );
    if let Some(template) = &spec.pod_template {
        let vendor = Some(spec.gpu_vendor);
        let target = TemplateTarget { own: &AGENT_NAMES, restart_policy: "Always", stateful: true, vendor };
        pod_template::check(&path.field("podTemplate"), template, target, &mut findings);
    }
    if spec.paused && spec.replicas == 0 {
        findings.warn(&path.field("replicas"), "is 0: no worker will start when paused is set to false");
    }
    findings
}
