//! Paths into a schema and into an object, in the same notation: `.spec.input.width`, `.spec.scoring.features[]`,
//! `.spec.nodeSelector{}`.

use std::collections::BTreeSet;

use serde_json::Value;

/// Every path of a schema with its subschema, without the root.
pub(crate) fn subschemas(schema: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for part in ["spec", "status"] {
        walk(&format!(".{part}"), &schema["properties"][part], &mut found);
    }
    found
}

fn walk(path: &str, schema: &Value, found: &mut Vec<(String, Value)>) {
    found.push((path.to_owned(), schema.clone()));
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{name}"), field, found);
    }
    if schema["items"].is_object() {
        walk(&format!("{path}[]"), &schema["items"], found);
    }
    if schema["additionalProperties"].is_object() {
        walk(&format!("{path}{{}}"), &schema["additionalProperties"], found);
    }
}

/// The paths of `schema` at which `object` has a value.
pub(crate) fn filled(schema: &Value, object: &Value) -> BTreeSet<String> {
    let paths = subschemas(schema).into_iter().map(|(path, _)| path);
    paths.filter(|path| !values(object, path).is_empty()).collect()
}

/// The paths at which two objects differ, with both values.
pub(crate) fn differences(left: &Value, right: &Value) -> Vec<(String, Value, Value)> {
    let mut found = Vec::new();
    differ("", left, right, &mut found);
    found
}

fn differ(path: &str, left: &Value, right: &Value, found: &mut Vec<(String, Value, Value)>) {
    match (left, right) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let value = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                differ(&format!("{path}.{key}"), &value(a), &value(b), found);
            }
        }
        _ if left != right => found.push((path.into(), left.clone(), right.clone())),
        _ => {}
    }
}

/// All values of an object at a path.
fn values<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    steps(path).iter().fold(vec![object], |values, step| {
        let next = |value: &'a Value| -> Vec<&'a Value> {
            match step.as_str() {
                "[]" => value.as_array().into_iter().flatten().collect(),
                "{}" => value.as_object().into_iter().flat_map(|map| map.values()).collect(),
                name => value.get(name).into_iter().collect(),
            }
        };
        values.into_iter().flat_map(next).collect()
    })
}

/// Sets the value at a path, creating the objects and lists on the way; `None` removes it.
pub(crate) fn set(object: &mut Value, path: &str, value: Option<Value>) {
    let steps = steps(path);
    let (last, between) = steps.split_last().unwrap();
    let mut value_at = object;
    for (step, next) in between.iter().zip(&steps[1..]) {
        value_at = enter(value_at, step);
        if value_at.is_null() {
            *value_at =
                if next == "[]" { Value::Array(vec![]) } else { Value::Object(serde_json::Map::new()) };
        }
    }
    match value {
        Some(value) => *enter(value_at, last) = value,
        None => drop(value_at.as_object_mut().unwrap().remove(last)),
    }
}

fn enter<'a>(value: &'a mut Value, step: &str) -> &'a mut Value {
    match step {
        "[]" => {
            let items = value.as_array_mut().unwrap();
            if items.is_empty() {
                items.push(Value::Null);
            }
            &mut items[0]
        }
        "{}" => &mut value["key"],
        name => &mut value[name],
    }
}

fn steps(path: &str) -> Vec<String> {
    let spaced = path.replace("[]", ".[]").replace("{}", ".{}");
    spaced.trim_start_matches('.').split('.').map(str::to_owned).collect()
}
