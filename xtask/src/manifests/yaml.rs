//! Objects as YAML.

use anyhow::Result;
use serde_json::{Number, Value};

const HEADER: &str = "# Generated from the code by `make manifests`. Do not edit.\n";

pub(super) fn render(object: &Value) -> Result<String> {
    render_all(std::slice::from_ref(object))
}

pub(super) fn render_all(objects: &[Value]) -> Result<String> {
    let documents = objects.iter().map(serde_saphyr::to_string).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("{HEADER}{}", documents.join("---\n")))
}

/// Writes whole numbers without a fraction, as the API server does. The types hold every bound as a float, so `kubectl
/// diff` would otherwise always show a difference.
pub(super) fn normalise(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(whole(&number).unwrap_or(number)),
        Value::Array(items) => items.into_iter().map(normalise).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, normalise(value))).collect(),
        other => other,
    }
}

/// Bounds are far below 2^53, so the cast is exact where the fraction is zero.
#[allow(clippy::cast_possible_truncation, reason = "guarded by the range check")]
fn whole(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|f| number.is_f64() && f.fract() == 0.0 && f.abs() < 9.0e15)?;
    Some(Number::from(float as i64))
}
