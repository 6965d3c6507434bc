//! The fields of a StatefulSet that cannot be changed in place.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSetSpec;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::quantity::ParsedQuantity;

/// Normalized, with and without the defaults of the API server, so that the desired and the stored fields are equal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImmutableFields {
    selector: LabelSelector,
    service_name: String,
    pod_management_policy: String,
    claims: Vec<Claim>,
}

#[derive(Clone, Debug, PartialEq)]
struct Claim {
    name: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    spec: PersistentVolumeClaimSpec,
}

impl ImmutableFields {
    pub fn of(spec: Option<&StatefulSetSpec>) -> Self {
        let Some(spec) = spec else { return Self::default() };
        let policy = spec.pod_management_policy.as_deref().unwrap_or("OrderedReady");
        let mut selector = spec.selector.clone();
        selector.match_labels.get_or_insert_default();
        selector.match_expressions.get_or_insert_default();
        Self {
            selector,
            service_name: spec.service_name.clone().unwrap_or_default(),
            pod_management_policy: policy.to_owned(),
            claims: spec.volume_claim_templates.iter().flatten().map(claim).collect(),
        }
    }

    /// Whether both select the same Pods; then only one of the two StatefulSets can work.
    pub fn select_the_same(&self, other: &Self) -> bool {
        self.selector == other.selector
    }

    /// Names of the fields that differ.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let fields = [
            ("selector", self.selector != other.selector),
            ("serviceName", self.service_name != other.service_name),
            ("podManagementPolicy", self.pod_management_policy != other.pod_management_policy),
            ("volumeClaimTemplates", self.claims != other.claims),
        ];
        fields.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
    }
}

fn claim(claim: &PersistentVolumeClaim) -> Claim {
    let mut spec = claim.spec.clone().unwrap_or_default();
    spec.volume_mode.get_or_insert_with(|| "Filesystem".to_owned());
    if let Some(resources) = spec.resources.as_mut() {
        for quantities in [&mut resources.requests, &mut resources.limits] {
            quantities.iter_mut().flatten().for_each(|(_, quantity)| normalize(quantity));
        }
    }
    Claim {
        name: claim.metadata.name.clone(),
        labels: claim.metadata.labels.clone().unwrap_or_default(),
        annotations: claim.metadata.annotations.clone().unwrap_or_default(),
        spec,
    }
}

fn normalize(quantity: &mut Quantity) {
    if let Some(parsed) = ParsedQuantity::parse(&quantity.0) {
        quantity.0 = parsed.to_string();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(spec: Value) -> ImmutableFields {
        ImmutableFields::of(Some(&serde_json::from_value(spec).unwrap()))
    }

    #[test]
    fn defaults_of_the_api_server_are_no_difference() {
        let desired = of(json!({
            "selector": { "matchLabels": { "a": "b" } }, "template": {},
            "volumeClaimTemplates": [{
                "metadata": { "name": "data" },
                "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1024Mi" } } },
            }],
        }));
        let stored = of(json!({
            "selector": { "matchLabels": { "a": "b" } }, "template": {}, "serviceName": "",
            "podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10,
            "volumeClaimTemplates": [{
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": { "name": "data" }, "status": { "phase": "Pending" },
                "spec": { "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                          "resources": { "requests": { "storage": "1Gi" } } },
            }],
        }));
        assert_eq!(desired.differences(&stored), Vec::<&str>::new());
        assert_eq!(desired, stored);
    }

    #[test]
    fn every_immutable_field_counts() {
        let before = of(json!({ "selector": { "matchLabels": { "a": "b" } }, "template": {} }));
        let after = of(json!({
            "selector": { "matchLabels": { "a": "c" } }, "template": {}, "serviceName": "s",
            "podManagementPolicy": "Parallel", "volumeClaimTemplates": [{ "metadata": { "name": "data" } }],
        }));
        let all = ["selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"];
        assert_eq!(before.differences(&after), all);
        assert!(!before.select_the_same(&after));
    }
}
