//! Rules for `VmafxModelTraining`.

use vmafx_api::VmafxModelTrainingSpec;
use vmafx_api::node::GpuVendor;

use super::pod_template::{self, TemplateTarget};
use super::violation::{FieldPath, Findings};
use super::{labels, location};
use crate::reserved::TRAINER_NAMES;

pub fn check(spec: &VmafxModelTrainingSpec) -> Findings {
    let mut findings = Findings::default();
    let path = FieldPath::spec();
    location::model(&path.field("baseModel"), &spec.base_model, &mut findings);
    location::repository(&path.field("outputRegistry"), &spec.output_registry, &mut findings);
    if let Some(image) = &spec.image {
        location::image(&path.field("image"), image, &mut findings);
    }
    if let Some(selector) = spec.data_source.as_ref().and_then(|source| source.node_selector.as_ref()) {
        labels::check(&path.field("dataSource").field("nodeSelector"), selector, &mut findings);
    }
    if let Some(template) = &spec.pod_template {
        let vendor = Some(GpuVendor::Cpu);
        let target = TemplateTarget { own: &TRAINER_NAMES, restart_policy: "Always", stateful: true, vendor };
        pod_template::check(&path.field("podTemplate"), template, target, &mut findings);
    }
    if spec.gate.max_rmse_ratio == 0.0 {
        let text = "is 0: every checkpoint has some error, so the stable tag will never move";
        findings.warn(&path.field("gate").field("maxRmseRatio"), text);
    }
    if spec.registry_secret.is_none() && !is_local(&spec.output_registry) {
        findings.warn(
            &path.field("registrySecret"),
            "is not set: checkpoints are pushed anonymously, which most registries refuse",
        );
    }
    findings
}

fn is_local(repository: &str) -> bool {
    let host = repository.trim_start_matches("oci://").split(['/', ':']).next().unwrap_or_default();
    host == "localhost" || [".svc", ".cluster.local"].iter().any(|inside| host.ends_with(inside))
}
