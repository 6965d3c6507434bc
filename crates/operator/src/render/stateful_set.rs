//! The StatefulSet that keeps Pods running.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{
    RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

/// Makes it, but for its template.
///
/// Pods do not depend on each other: they start and stop together (`Parallel`), and a new template replaces one after
/// the other, each when the one before is ready. Together these also get past a template that never became ready, which
/// the ordered policy waits for for ever.
pub fn parallel(
    metadata: ObjectMeta,
    selector: BTreeMap<String, String>,
    service: String,
    replicas: i32,
) -> StatefulSet {
    StatefulSet {
        spec: Some(StatefulSetSpec {
            replicas: Some(replicas),
            selector: LabelSelector { match_labels: Some(selector), ..LabelSelector::default() },
            service_name: Some(service),
            pod_management_policy: Some("Parallel".to_owned()),
            revision_history_limit: Some(10),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateStatefulSetStrategy {
                    partition: Some(0),
                    ..RollingUpdateStatefulSetStrategy::default()
                }),
            }),
            ..StatefulSetSpec::default()
        }),
        metadata,
        status: None,
    }
}
