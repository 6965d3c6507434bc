//! Chart values.

use serde_json::Value;

/// Merges two sets of values, as Helm does with several files.
#[must_use]
pub fn merge_values(below: Value, above: Value) -> Value {
    match (below, above) {
        (Value::Object(mut below), Value::Object(above)) => {
            for (key, value) in above {
                let lower = below.remove(&key).unwrap_or_default();
                below.insert(key, merge_values(lower, value));
            }
            Value::Object(below)
        }
        (_, above) => above,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::another_key(json!({"a": 1}), json!({"b": 2}), json!({"a": 1, "b": 2}))]
    #[case::the_same_key(json!({"a": 1}), json!({"a": 2}), json!({"a": 2}))]
    #[case::deep(json!({"a": {"b": 1, "c": 2}}), json!({"a": {"c": 3}}), json!({"a": {"b": 1, "c": 3}}))]
    #[case::lists_are_whole(json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]}))]
    #[case::nothing_above(json!({"a": 1}), json!({}), json!({"a": 1}))]
    fn the_upper_values_take_precedence(#[case] below: Value, #[case] above: Value, #[case] expected: Value) {
        assert_eq!(merge_values(below, above), expected);
    }
}
