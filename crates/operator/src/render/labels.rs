//! Labels of rendered objects.

use std::collections::BTreeMap;

use super::WorkloadFamily;
use crate::reserved::WORKLOAD_LABEL;

/// The selector of a workload's Pods: one label, because a selector cannot be changed later.
pub fn selector(workload: &str) -> BTreeMap<String, String> {
    [(WORKLOAD_LABEL.to_owned(), workload.to_owned())].into()
}

/// The selector as text, for the scale subresource.
pub fn selector_text(workload: &str) -> String {
    format!("{WORKLOAD_LABEL}={workload}")
}

impl WorkloadFamily {
    pub fn labels(self, workload: &str) -> BTreeMap<String, String> {
        let recommended = [
            ("app.kubernetes.io/name", self.app),
            ("app.kubernetes.io/component", self.component),
            ("app.kubernetes.io/instance", workload),
            ("app.kubernetes.io/part-of", "vmafx"),
            ("app.kubernetes.io/managed-by", crate::FIELD_MANAGER),
        ];
        let mut labels = selector(workload);
        labels.extend(recommended.map(|(key, value)| (key.to_owned(), value.to_owned())));
        labels
    }
}
