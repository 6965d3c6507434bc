//! The body of an apply contains the desired fields and no others, which would become the operator's by accident.

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};
use serde_json::{Map, Value};
use vmafx_operator::workload::body;

use crate::objects::{DesiredSet, NAMESPACE, owner};

fn nulls(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null => found.push(path.to_owned()),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| nulls(&format!("{path}.{name}"), field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| nulls(&format!("{path}[]"), item, found)),
        _ => {}
    }
}

/// A StatefulSet as the API server returns it, with the fields that it maintains.
fn stored() -> StatefulSet {
    let mut set = DesiredSet::default().rendered(NAMESPACE);
    set.metadata.uid = Some("uid".to_owned());
    set.metadata.resource_version = Some("5".to_owned());
    set.metadata.generation = Some(5);
    set.metadata.creation_timestamp = serde_json::from_str("\"2026-01-02T03:04:05Z\"").unwrap();
    set.metadata.managed_fields = Some(Vec::new());
    set.metadata.finalizers = Some(vec!["example.com/theirs".to_owned()]);
    set.status = Some(StatefulSetStatus::default());
    set
}

#[test]
fn neither_status_nor_bookkeeping_nor_nulls_are_sent() {
    let body: Map<String, Value> = body(&stored(), &owner());
    let mut found = Vec::new();
    nulls("", &Value::Object(body.clone()), &mut found);
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(body.keys().collect::<Vec<_>>(), ["apiVersion", "kind", "metadata", "spec"]);
    let metadata = body["metadata"].as_object().unwrap();
    assert_eq!(metadata.keys().collect::<Vec<_>>(), ["labels", "name", "namespace", "ownerReferences"]);
}

#[test]
fn an_empty_object_that_means_something_is_sent() {
    let body = body(&stored(), &owner());
    assert_eq!(body["spec"]["template"]["spec"]["volumes"][0]["emptyDir"], Value::Object(Map::new()));
    assert_eq!(body["spec"], DesiredSet::default().manifest(NAMESPACE)["spec"]);
}
