//! Labels of what is made for a node.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use vmafx_api::VmafxNode;

use super::name::workload_name;
use crate::reserved::WORKLOAD_LABEL;

/// What selects the workers of a node: one label. A selector cannot be changed, so it holds nothing that could.
pub fn selector(node: &VmafxNode) -> BTreeMap<String, String> {
    [(WORKLOAD_LABEL.to_owned(), workload_name(&node.name_any()))].into()
}

/// The same as text, which the scale subresource wants.
pub fn selector_text(node: &VmafxNode) -> String {
    format!("{WORKLOAD_LABEL}={}", workload_name(&node.name_any()))
}

/// All labels.
pub fn of(node: &VmafxNode) -> BTreeMap<String, String> {
    let usual = [
        ("app.kubernetes.io/name", "vmafx-node".to_owned()),
        ("app.kubernetes.io/component", "node".to_owned()),
        ("app.kubernetes.io/instance", workload_name(&node.name_any())),
        ("app.kubernetes.io/part-of", "vmafx".to_owned()),
        ("app.kubernetes.io/managed-by", crate::FIELD_MANAGER.to_owned()),
    ];
    let mut labels = selector(node);
    labels.extend(usual.map(|(key, value)| (key.to_owned(), value)));
    labels
}
