//! Places in a schema and in an object, by the same name: `.spec.input.width`, `.spec.scoring.features[]`,
//! `.spec.nodeSelector{}`.

use std::collections::BTreeSet;

use serde_json::Value;

/// Every place of a schema with what the schema says of it, without the root.
pub(crate) fn places(schema: &Value) -> Vec<(String, Value)> {
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

/// The places of `schema` that `object` has a value for.
pub(crate) fn filled(schema: &Value, object: &Value) -> BTreeSet<String> {
    let places = places(schema).into_iter().map(|(path, _)| path);
    places.filter(|path| !values(object, path).is_empty()).collect()
}

/// Where two objects differ, with both values.
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

/// All values of an object at a place.
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

/// Puts a value at a place, making what lies between; `None` takes it away.
pub(crate) fn set(object: &mut Value, path: &str, value: Option<Value>) {
    let steps = steps(path);
    let (last, between) = steps.split_last().unwrap();
    let mut place = object;
    for (step, next) in between.iter().zip(&steps[1..]) {
        place = enter(place, step);
        if place.is_null() {
            *place = if next == "[]" { Value::Array(vec![]) } else { Value::Object(serde_json::Map::new()) };
        }
    }
    match value {
        Some(value) => *enter(place, last) = value,
        None => drop(place.as_object_mut().unwrap().remove(last)),
    }
}

fn enter<'a>(place: &'a mut Value, step: &str) -> &'a mut Value {
    match step {
        "[]" => {
            let items = place.as_array_mut().unwrap();
            if items.is_empty() {
                items.push(Value::Null);
            }
            &mut items[0]
        }
        "{}" => &mut place["key"],
        name => &mut place[name],
    }
}

fn steps(path: &str) -> Vec<String> {
    let spaced = path.replace("[]", ".[]").replace("{}", ".{}");
    spaced.trim_start_matches('.').split('.').map(str::to_owned).collect()
}
