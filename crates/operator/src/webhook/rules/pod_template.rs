//! Rules for a partial Pod template, which the schema leaves open on purpose: it must decode, and must not set what belongs
//! to the operator.

mod containers;
mod decoding;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec, Volume};
use serde_json::Value;
use vmafx_api::node::GpuVendor;
use vmafx_api::pod_template::PartialPodTemplate;

use super::labels::{self, NAME};
use super::tolerations;
use super::violation::{FieldPath, Findings};
use crate::reserved::{self, ReservedNames};

/// The workload that a template is merged into.
#[derive(Clone, Copy, Debug)]
pub(super) struct TemplateTarget {
    pub(super) own: &'static ReservedNames,
    /// The only restart policy that the workload permits.
    pub(super) restart_policy: &'static str,
    /// Whether a StatefulSet names the Pods.
    pub(super) stateful: bool,
    /// The vendor whose GPUs the operator's container can use; `None` permits every vendor's.
    pub(super) vendor: Option<GpuVendor>,
}

pub(super) fn check(
    path: &FieldPath,
    template: &PartialPodTemplate,
    target: TemplateTarget,
    findings: &mut Findings,
) {
    let written = Value::Object(template.0.clone());
    let decoded: PodTemplateSpec = match serde_json::from_value(written.clone()) {
        Ok(decoded) => decoded,
        Err(_) => return decoding::explain::<PodTemplateSpec>(path, &written, findings),
    };
    decoding::unknown(path, &written, &decoded, findings);
    if let Some(meta) = &decoded.metadata {
        metadata(&path.field("metadata"), meta, findings);
    }
    if let Some(spec) = &decoded.spec {
        let path = path.field("spec");
        owned(&path, spec, target, findings);
        let mounted = spec.volumes.as_deref().unwrap_or_default();
        let volumes = volumes(&path.field("volumes"), mounted, target.own, findings);
        containers::check(&path, spec, &volumes, target, findings);
        if let Some(selector) = &spec.node_selector {
            labels::check(&path.field("nodeSelector"), selector, findings);
        }
        tolerations::check(
            &path.field("tolerations"),
            spec.tolerations.as_deref().unwrap_or_default(),
            findings,
        );
    }
}

fn metadata(path: &FieldPath, meta: &kube::core::ObjectMeta, findings: &mut Findings) {
    let named = [("name", &meta.name), ("namespace", &meta.namespace), ("generateName", &meta.generate_name)];
    for (field, value) in named {
        if value.is_some() {
            findings
                .forbidden(&path.field(field), "the workload that creates the Pods names them: remove it");
        }
    }
    if let Some(map) = &meta.labels {
        labels::check(&path.field("labels"), map, findings);
    }
    for (field, map) in [("labels", &meta.labels), ("annotations", &meta.annotations)] {
        for key in map.iter().flatten().map(|(key, _)| key) {
            if key.starts_with(reserved::RESERVED_PREFIX) {
                let advice = format!(
                    "the prefix {} belongs to the operator: remove it or use another prefix",
                    reserved::RESERVED_PREFIX
                );
                findings.forbidden(&path.field(field).key(key), advice);
            }
            if field == "annotations" && !labels::is_key(&key.to_ascii_lowercase()) {
                findings.invalid(&path.field(field), key.as_str(), labels::KEY);
            }
        }
    }
}

/// Checks fields of the Pod that the workload determines.
fn owned(path: &FieldPath, spec: &PodSpec, target: TemplateTarget, findings: &mut Findings) {
    if let Some(policy) = spec.restart_policy.as_deref().filter(|policy| *policy != target.restart_policy) {
        let advice = format!("must be {}: remove it", target.restart_policy);
        findings.invalid(&path.field("restartPolicy"), policy, advice);
    }
    if spec.ephemeral_containers.as_ref().is_some_and(|list| !list.is_empty()) {
        let advice =
            "ephemeral containers exist only in running Pods, where kubectl debug adds them: remove it";
        findings.forbidden(&path.field("ephemeralContainers"), advice);
    }
    if target.stateful {
        if spec.active_deadline_seconds.is_some() {
            findings.forbidden(
                &path.field("activeDeadlineSeconds"),
                "these Pods run until they are deleted: remove it",
            );
        }
        for (field, value) in [("hostname", &spec.hostname), ("subdomain", &spec.subdomain)] {
            if value.is_some() {
                findings
                    .forbidden(&path.field(field), "these Pods are named by their StatefulSet: remove it");
            }
        }
    }
    if let Some(node) = &spec.node_name {
        findings.warn(
            &path.field("nodeName"),
            format!("every Pod is assigned to {node} without the scheduler: use nodeSelector instead"),
        );
    }
}

/// Checks the volumes, and returns the names of all, including the operator's own.
fn volumes<'a>(
    path: &FieldPath,
    volumes: &'a [Volume],
    own: &ReservedNames,
    findings: &mut Findings,
) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (index, volume) in volumes.iter().enumerate() {
        let (path, name) = (path.item(index).field("name"), volume.name.as_str());
        if name.is_empty() {
            findings.required(&path, "volumes are merged by name");
        } else if let Some(advice) = own.volume(name) {
            findings.forbidden(&path, format!("{name} belongs to the operator: {advice}"));
        } else if !labels::is_dns_label(name) {
            findings.invalid(&path, name, NAME);
        } else if !names.insert(name) {
            findings.duplicate(&path, name, "two volumes have this name: rename one");
        }
    }
    for name in own.volumes() {
        names.insert(name);
    }
    names
}
