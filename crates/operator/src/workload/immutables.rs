//! The fields of a StatefulSet that cannot be changed in place.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSetSpec;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::quantity::ParsedQuantity;

/// Written the same way whether or not the API server has filled in its defaults, so that what we want and what it
/// keeps of it are equal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImmutableFields {
    selector: Selector,
    service_name: String,
    pod_management_policy: String,
    claims: Vec<Claim>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Selector {
    labels: BTreeMap<String, String>,
    expressions: Vec<LabelSelectorRequirement>,
}

#[derive(Clone, Debug, PartialEq)]
struct Claim {
    name: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    spec: PersistentVolumeClaimSpec,
}

impl ImmutableFields {
    /// Of a spec, rendered or as the API server sent it.
    pub fn of(spec: Option<&StatefulSetSpec>) -> Self {
        let Some(spec) = spec else { return Self::default() };
        let policy = spec.pod_management_policy.as_deref().unwrap_or("OrderedReady");
        Self {
            selector: selector(&spec.selector),
            service_name: spec.service_name.clone().unwrap_or_default(),
            pod_management_policy: policy.to_owned(),
            claims: spec.volume_claim_templates.iter().flatten().map(claim).collect(),
        }
    }

    /// Whether both choose the same Pods. Then only one of them can do its work.
    pub fn select_the_same(&self, other: &Self) -> bool {
        self.selector == other.selector
    }

    /// The fields that differ, for people.
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

fn selector(selector: &LabelSelector) -> Selector {
    Selector {
        labels: selector.match_labels.clone().unwrap_or_default(),
        expressions: selector.match_expressions.clone().unwrap_or_default(),
    }
}

fn claim(claim: &PersistentVolumeClaim) -> Claim {
    let mut spec = claim.spec.clone().unwrap_or_default();
    spec.volume_mode.get_or_insert_with(|| "Filesystem".to_owned());
    if let Some(resources) = spec.resources.as_mut() {
        for amounts in [&mut resources.requests, &mut resources.limits] {
            amounts.iter_mut().flatten().for_each(|(_, amount)| same_unit(amount));
        }
    }
    Claim {
        name: claim.metadata.name.clone(),
        labels: claim.metadata.labels.clone().unwrap_or_default(),
        annotations: claim.metadata.annotations.clone().unwrap_or_default(),
        spec,
    }
}

fn same_unit(amount: &mut Quantity) {
    if let Some(same) = ParsedQuantity::parse(&amount.0) {
        amount.0 = same.to_string();
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
    fn what_the_api_server_fills_in_is_no_difference() {
        let wanted = of(json!({
            "selector": { "matchLabels": { "a": "b" } }, "template": {},
            "volumeClaimTemplates": [{
                "metadata": { "name": "data" },
                "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1024Mi" } } },
            }],
        }));
        let kept = of(json!({
            "selector": { "matchLabels": { "a": "b" } }, "template": {}, "serviceName": "",
            "podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10,
            "volumeClaimTemplates": [{
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": { "name": "data" }, "status": { "phase": "Pending" },
                "spec": { "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                          "resources": { "requests": { "storage": "1Gi" } } },
            }],
        }));
        assert_eq!(wanted.differences(&kept), Vec::<&str>::new());
        assert_eq!(wanted, kept);
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
