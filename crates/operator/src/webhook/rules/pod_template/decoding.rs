//! Locates the fields of a JSON document that keep it from decoding into a type, and those that the type does not have.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::webhook::rules::violation::{FieldPath, Findings};

#[derive(Clone)]
enum PathStep {
    Field(String),
    Item,
}

/// Reports the smallest parts of the document that do not decode as part of a `T` even if the rest of it is removed.
pub(super) fn explain<T: DeserializeOwned>(path: &FieldPath, document: &Value, findings: &mut Findings) {
    let mut steps = Vec::new();
    let before = findings.violations.len();
    narrow::<T>(path, document, &mut steps, findings);
    if findings.violations.len() == before {
        let error = serde_json::from_value::<T>(document.clone()).err().map(|error| error.to_string());
        findings.invalid(path, "object", format!("is not a Pod template: {}", error.unwrap_or_default()));
    }
}

fn narrow<T: DeserializeOwned>(
    path: &FieldPath,
    part: &Value,
    steps: &mut Vec<PathStep>,
    findings: &mut Findings,
) {
    let Err(error) = serde_json::from_value::<T>(alone(steps, part.clone())) else { return };
    let before = findings.violations.len();
    match part {
        Value::Object(fields) => {
            for (name, value) in fields {
                steps.push(PathStep::Field(name.clone()));
                narrow::<T>(&path.field(name), value, steps, findings);
                steps.pop();
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                steps.push(PathStep::Item);
                narrow::<T>(&path.item(index), value, steps, findings);
                steps.pop();
            }
        }
        _ => {}
    }
    if findings.violations.len() == before {
        let shown = match part {
            Value::Object(_) => Value::from("object"),
            Value::Array(_) => Value::from("array"),
            plain => plain.clone(),
        };
        findings.invalid(path, shown, error);
    }
}

/// A document that contains only this part, at its path.
fn alone(steps: &[PathStep], part: Value) -> Value {
    steps.iter().rev().fold(part, |inner, step| match step {
        PathStep::Field(name) => Value::Object(Map::from_iter([(name.clone(), inner)])),
        PathStep::Item => Value::Array(vec![inner]),
    })
}

/// Warns about every field of the document that decoding dropped: most are misspelt, some are newer than this release.
pub(super) fn unknown(path: &FieldPath, written: &Value, decoded: &impl Serialize, findings: &mut Findings) {
    if let Ok(kept) = serde_json::to_value(decoded) {
        warn_dropped(path, written, &kept, findings);
    }
}

fn warn_dropped(path: &FieldPath, written: &Value, kept: &Value, findings: &mut Findings) {
    match (written, kept) {
        (Value::Object(written), Value::Object(kept)) => {
            for (name, value) in written.iter().filter(|(_, value)| !value.is_null()) {
                match kept.get(name) {
                    Some(kept) => warn_dropped(&path.field(name), value, kept, findings),
                    None => findings.warnings.push(format!("unknown field \"{path}.{name}\"")),
                }
            }
        }
        (Value::Array(written), Value::Array(kept)) => {
            for (index, (value, kept)) in written.iter().zip(kept).enumerate() {
                warn_dropped(&path.item(index), value, kept, findings);
            }
        }
        _ => {}
    }
}
