//! Merges a partial Pod template over the rendered one.
//!
//! Objects are merged, lists of named items are merged by name, everything else is replaced, and `null` removes. This is
//! what `kubectl patch` does to a Pod, as far as it is possible without a table of all lists of Kubernetes.

use serde_json::Value;

/// The merge key of a list, by the list's name; the merge key of all other lists is `name`.
const MERGE_KEYS: &[(&str, &str)] = &[
    ("ports", "containerPort"),
    ("volumeMounts", "mountPath"),
    ("volumeDevices", "devicePath"),
    ("hostAliases", "ip"),
];

pub fn merge(whole: &mut Value, parts: &Value) {
    merge_named("", whole, parts);
}

fn merge_named(name: &str, whole: &mut Value, parts: &Value) {
    match (whole, parts) {
        (Value::Object(whole), Value::Object(parts)) => {
            for (name, part) in parts {
                if part.is_null() {
                    whole.remove(name);
                } else {
                    merge_named(name, whole.entry(name).or_insert(Value::Null), part);
                }
            }
        }
        (Value::Array(whole), Value::Array(parts)) if merge_key(name, whole, parts).is_some() => {
            let key = merge_key(name, whole, parts).unwrap_or("name");
            for part in parts {
                match whole.iter_mut().find(|item| item.get(key) == part.get(key)) {
                    Some(item) => merge_named("", item, part),
                    None => whole.push(without_nulls(part)),
                }
            }
        }
        (whole, parts) => *whole = without_nulls(parts),
    }
}

/// The merge key of a list, if all items of both lists have it.
fn merge_key(name: &str, whole: &[Value], parts: &[Value]) -> Option<&'static str> {
    let key = MERGE_KEYS.iter().find(|(list, _)| *list == name).map_or("name", |(_, key)| key);
    whole.iter().chain(parts).all(|item| item.get(key).is_some()).then_some(key)
}

/// The API server does not store nulls.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::objects(json!({"a": {"b": 1}}), json!({"a": {"c": 2}}), json!({"a": {"b": 1, "c": 2}}))]
    #[case::null_takes_away(json!({"a": 1, "b": 2}), json!({"a": null}), json!({"b": 2}))]
    #[case::null_in_what_is_new(json!({}), json!({"a": {"b": null, "c": 1}}), json!({"a": {"c": 1}}))]
    #[case::by_name(
        json!({"containers": [{"name": "agent", "image": "x", "env": [{"name": "A", "value": "1"}]}]}),
        json!({"containers": [{"name": "sidecar"}, {"name": "agent", "env": [{"name": "B", "value": "2"}]}]}),
        json!({"containers": [
            {"name": "agent", "image": "x", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"name": "sidecar"},
        ]})
    )]
    #[case::one_volume_in_two_places(
        json!({"volumeMounts": [{"name": "data", "mountPath": "/a"}]}),
        json!({"volumeMounts": [{"name": "data", "mountPath": "/b"}]}),
        json!({"volumeMounts": [{"name": "data", "mountPath": "/a"}, {"name": "data", "mountPath": "/b"}]})
    )]
    #[case::ports_by_number(
        json!({"ports": [{"name": "http", "containerPort": 1}]}),
        json!({"ports": [{"containerPort": 2}]}),
        json!({"ports": [{"name": "http", "containerPort": 1}, {"containerPort": 2}]})
    )]
    #[case::lists_without_names_are_replaced(json!({"args": ["a"]}), json!({"args": ["b"]}), json!({"args": ["b"]}))]
    #[case::another_type(json!({"a": [1]}), json!({"a": "b"}), json!({"a": "b"}))]
    fn parts_go_over_the_whole(#[case] mut whole: Value, #[case] parts: Value, #[case] merged: Value) {
        merge(&mut whole, &parts);
        assert_eq!(whole, merged);
    }
}
