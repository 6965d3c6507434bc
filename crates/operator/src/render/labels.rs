//! Labels of what is made for a resource.

use std::collections::BTreeMap;

use super::WorkloadFamily;
use crate::reserved::WORKLOAD_LABEL;

/// What selects the Pods of a workload: one label. A selector cannot be changed, so it holds nothing that could.
pub fn selector(workload: &str) -> BTreeMap<String, String> {
    [(WORKLOAD_LABEL.to_owned(), workload.to_owned())].into()
}

/// The same as text, which the scale subresource wants.
pub fn selector_text(workload: &str) -> String {
    format!("{WORKLOAD_LABEL}={workload}")
}

impl WorkloadFamily {
    /// All labels.
    pub fn labels(self, workload: &str) -> BTreeMap<String, String> {
        let usual = [
            ("app.kubernetes.io/name", self.app),
            ("app.kubernetes.io/component", self.component),
            ("app.kubernetes.io/instance", workload),
            ("app.kubernetes.io/part-of", "vmafx"),
            ("app.kubernetes.io/managed-by", crate::FIELD_MANAGER),
        ];
        let mut labels = selector(workload);
        labels.extend(usual.map(|(key, value)| (key.to_owned(), value.to_owned())));
        labels
    }
}
