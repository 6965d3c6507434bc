//! Checks that a resource only grows within `v1`.
//!
//! Allowed: a new kind, a new optional field, a new enum value, a new short name or column, a wider bound, a dropped
//! rule, a rule for new objects only. Forbidden is what makes a stored object or a working client fail: a removed field, version, name or
//! subresource, a new required field or rule, a narrower enum, bound, type or format, another pattern, default or
//! merge strategy.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct BreakingChange {
    path: String,
    what: String,
}

impl fmt::Display for BreakingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

pub(super) fn breaking_changes(old: &Value, new: &Value) -> Vec<BreakingChange> {
    let mut comparison = Comparison::default();
    for key in ["group", "scope"] {
        comparison.unchanged("spec", key, &old["spec"], &new["spec"]);
    }
    let (old_names, new_names) = (&old["spec"]["names"], &new["spec"]["names"]);
    for key in ["kind", "plural", "singular", "listKind"] {
        comparison.unchanged("spec.names", key, old_names, new_names);
    }
    for key in ["shortNames", "categories"] {
        comparison.kept("spec.names", key, old_names, new_names);
    }
    let new_versions = by_key(&new["spec"]["versions"], "name");
    for (name, version) in by_key(&old["spec"]["versions"], "name") {
        match new_versions.get(&name) {
            Some(new) => comparison.version(&name, version, new),
            None => comparison.breaking("spec.versions", format!("version {name} was removed")),
        }
    }
    comparison.breaking_changes
}

#[derive(Default)]
struct Comparison {
    breaking_changes: Vec<BreakingChange>,
}

impl Comparison {
    fn breaking(&mut self, path: &str, what: impl Into<String>) {
        self.breaking_changes.push(BreakingChange { path: path.into(), what: what.into() });
    }

    fn version(&mut self, name: &str, old: &Value, new: &Value) {
        for key in ["served", "storage"] {
            self.unchanged(name, key, old, new);
        }
        for subresource in ["status", "scale"] {
            if !old["subresources"][subresource].is_null() {
                self.unchanged(
                    &format!("{name}.subresources"),
                    subresource,
                    &old["subresources"],
                    &new["subresources"],
                );
            }
        }
        self.kept(name, "selectableFields", old, new);
        let new_columns = by_key(&new["additionalPrinterColumns"], "name");
        for (column, old) in by_key(&old["additionalPrinterColumns"], "name") {
            match new_columns.get(&column) {
                None => self.breaking(name, format!("printer column {column} was removed")),
                Some(new) => {
                    for key in ["type", "jsonPath", "priority"] {
                        self.unchanged(&format!("{name} printer column {column}"), key, old, new);
                    }
                }
            }
        }
        self.schema("", &old["schema"]["openAPIV3Schema"], &new["schema"]["openAPIV3Schema"]);
    }

    fn schema(&mut self, path: &str, old: &Value, new: &Value) {
        for key in UNCHANGED {
            self.unchanged(path, key, old, new);
        }
        for key in REMOVABLE {
            if !new[key].is_null() {
                self.unchanged(path, key, old, new);
            }
        }
        for key in LOWER_BOUNDS {
            self.bound(path, key, old, new, |old, new| new <= old);
        }
        for key in UPPER_BOUNDS {
            self.bound(path, key, old, new, |old, new| new >= old);
        }
        match (old["enum"].is_array(), new["enum"].is_array()) {
            (true, true) => self.kept(path, "enum", old, new),
            (false, true) => self.breaking(path, "an enum now limits the values"),
            _ => {}
        }
        for field in
            list(&new["required"]).filter(|field| !list(&old["required"]).any(|known| known == *field))
        {
            self.breaking(path, format!("field {field} became required"));
        }
        let old_rules = by_key(&old["x-kubernetes-validations"], "rule");
        for (rule, declared) in &by_key(&new["x-kubernetes-validations"], "rule") {
            let accepts_stored = is_for_new_objects(declared) || is_for_new_field(declared, old);
            if !old_rules.contains_key(rule) && !accepts_stored {
                self.breaking(path, format!("a new rule may reject stored objects: {rule}"));
            }
        }
        self.children(path, old, new);
    }

    fn children(&mut self, path: &str, old: &Value, new: &Value) {
        for (name, old) in old["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            match new["properties"].get(name) {
                Some(new) => self.schema(&path, old, new),
                None => self.breaking(&path, "the field was removed"),
            }
        }
        for (key, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
            match (old[key].is_object(), new[key].is_object()) {
                (true, true) => self.schema(&format!("{path}{suffix}"), &old[key], &new[key]),
                (true, false) | (false, true) => self.breaking(path, format!("{key} changed")),
                (false, false) => {}
            }
        }
    }

    fn unchanged(&mut self, path: &str, key: &str, old: &Value, new: &Value) {
        if old[key] != new[key] {
            self.breaking(path, format!("{key} changed from {} to {}", old[key], new[key]));
        }
    }

    /// Every entry of the old list must be in the new one.
    fn kept(&mut self, path: &str, key: &str, old: &Value, new: &Value) {
        for entry in list(&old[key]).filter(|entry| !list(&new[key]).any(|kept| kept == *entry)) {
            self.breaking(path, format!("{key} lost {entry}"));
        }
    }

    fn bound(&mut self, path: &str, key: &str, old: &Value, new: &Value, wide_enough: fn(f64, f64) -> bool) {
        let Some(limit) = new[key].as_f64() else { return };
        if !old[key].as_f64().is_some_and(|old| wide_enough(old, limit)) {
            self.breaking(path, format!("{key} became stricter: {} to {}", old[key], new[key]));
        }
    }
}

/// Whether a rule accepts every change of a stored object, whatever the object is.
fn is_for_new_objects(rule: &Value) -> bool {
    let text = rule["rule"].as_str().unwrap_or_default();
    rule["optionalOldSelf"] == true && text.starts_with("oldSelf.hasValue() || ")
}

/// Whether a rule accepts every object without some field, which no stored object can have because it is new.
fn is_for_new_field(rule: &Value, old: &Value) -> bool {
    let text = rule["rule"].as_str().unwrap_or_default();
    let absent = text.rsplit_once(" || !has(self.").and_then(|(_, last)| last.strip_suffix(')'));
    // A conditional binds less than the disjunction, and another bracket would close one that was opened before it.
    let is_disjunction = |field: &&str| !text.contains('?') && field.chars().all(char::is_alphanumeric);
    absent.filter(is_disjunction).is_some_and(|field| old["properties"].get(field).is_none())
}

/// Parts of a schema that must not change.
const UNCHANGED: [&str; 9] = [
    "type",
    "default",
    "nullable",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
];
/// Parts that may be dropped, which only accepts more, but not added or changed.
const REMOVABLE: [&str; 3] = ["pattern", "format", "x-kubernetes-map-type"];
const LOWER_BOUNDS: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
const UPPER_BOUNDS: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn by_key<'a>(items: &'a Value, key: &str) -> BTreeMap<String, &'a Value> {
    list(items).filter_map(|item| Some((item[key].as_str()?.to_owned(), item))).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn definition() -> Value {
        json!({ "spec": {
            "group": "vmafx.dev", "scope": "Namespaced",
            "names": { "kind": "Clip", "plural": "clips", "singular": "clip", "shortNames": ["cl"], "categories": ["all"] },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": { "status": {}, "scale": { "specReplicasPath": ".spec.replicas" } },
                "selectableFields": [{ "jsonPath": ".spec.codec" }],
                "additionalPrinterColumns": [{ "name": "Codec", "type": "string", "jsonPath": ".spec.codec" }],
                "schema": { "openAPIV3Schema": { "type": "object", "required": ["spec"], "properties": { "spec": {
                    "type": "object", "required": ["codec"],
                    "x-kubernetes-validations": [{ "rule": "a", "message": "m" }],
                    "properties": {
                        "codec": { "type": "string", "enum": ["av1", "hevc"], "default": "av1", "maxLength": 9, "pattern": "^a" },
                        "crf": { "type": "integer", "format": "int32", "minimum": 0, "maximum": 63 },
                        "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string", "minLength": 1 } },
                        "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                    },
                } } } },
            }],
        } })
    }

    /// The definition with one value replaced; `null` removes it.
    fn with(pointer: &str, value: Value) -> Value {
        let mut new = definition();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = new.pointer_mut(&expand(parent)).unwrap();
        match parent {
            Value::Object(map) if value.is_null() => drop(map.remove(key).unwrap()),
            Value::Object(map) => drop(map.insert(key.into(), value)),
            other => panic!("{other} is not an object"),
        }
        new
    }

    fn expand(pointer: &str) -> String {
        pointer
            .replace("V1", "/spec/versions/0")
            .replace("SPEC", "/spec/versions/0/schema/openAPIV3Schema/properties/spec")
    }

    #[test]
    fn an_unchanged_definition_is_compatible() {
        assert_eq!(breaking_changes(&definition(), &definition()), []);
    }

    #[rstest]
    #[case::new_optional_field("SPEC/properties/preset", json!({ "type": "string", "enum": ["slow"], "maxLength": 4 }))]
    #[case::new_enum_value("SPEC/properties/codec/enum", json!(["av1", "hevc", "vvc"]))]
    #[case::lower_minimum("SPEC/properties/crf/minimum", json!(-1))]
    #[case::no_maximum("SPEC/properties/crf/maximum", Value::Null)]
    #[case::longer_text("SPEC/properties/codec/maxLength", json!(10))]
    #[case::no_pattern("SPEC/properties/codec/pattern", Value::Null)]
    #[case::no_longer_required("SPEC/required", Value::Null)]
    #[case::dropped_rule("SPEC/x-kubernetes-validations", Value::Null)]
    #[case::better_message("SPEC/x-kubernetes-validations", json!([{ "rule": "a", "message": "better" }]))]
    #[case::rule_for_new_objects("SPEC/x-kubernetes-validations",
        json!([{ "rule": "a" }, { "rule": "oldSelf.hasValue() || b", "optionalOldSelf": true }]))]
    #[case::rule_for_a_new_field("SPEC/x-kubernetes-validations", json!([{ "rule": "a" }, { "rule": "b || !has(self.preset)" }]))]
    #[case::new_description("SPEC/properties/codec/description", json!("the codec"))]
    #[case::new_short_name("/spec/names/shortNames", json!(["cl", "clp"]))]
    #[case::new_column("V1/additionalPrinterColumns", json!([
        { "name": "Crf", "type": "integer", "jsonPath": ".spec.crf" },
        { "name": "Codec", "type": "string", "jsonPath": ".spec.codec" }]))]
    fn growth_is_allowed(#[case] pointer: &str, #[case] value: Value) {
        assert_eq!(breaking_changes(&definition(), &with(pointer, value)), []);
    }

    #[rstest]
    #[case::field_removed("SPEC/properties/crf", Value::Null, "the field was removed")]
    #[case::enum_value_removed("SPEC/properties/codec/enum", json!(["av1"]), "enum lost \"hevc\"")]
    #[case::enum_added("SPEC/properties/crf/enum", json!([1]), "an enum now limits")]
    #[case::field_becomes_required("SPEC/required", json!(["codec", "crf"]), "field \"crf\" became required")]
    #[case::type_changed("SPEC/properties/crf/type", json!("string"), "type changed")]
    #[case::format_changed("SPEC/properties/crf/format", json!("int64"), "format changed")]
    #[case::format_added("SPEC/properties/codec/format", json!("uri"), "format changed")]
    #[case::higher_minimum("SPEC/properties/crf/minimum", json!(1), "minimum became stricter")]
    #[case::lower_maximum("SPEC/properties/crf/maximum", json!(51), "maximum became stricter")]
    #[case::new_minimum_length("SPEC/properties/codec/minLength", json!(1), "minLength became stricter")]
    #[case::item_longer("SPEC/properties/tags/items/minLength", json!(2), "minLength became stricter")]
    #[case::pattern_changed("SPEC/properties/codec/pattern", json!("^b"), "pattern changed")]
    #[case::pattern_added("SPEC/properties/tags/items/pattern", json!("^b"), "pattern changed")]
    #[case::default_changed("SPEC/properties/codec/default", json!("hevc"), "default changed")]
    #[case::default_added("SPEC/properties/crf/default", json!(23), "default changed")]
    #[case::list_type_changed("SPEC/properties/tags/x-kubernetes-list-type", json!("atomic"), "list-type changed")]
    #[case::map_closed(
        "SPEC/properties/labels/additionalProperties",
        Value::Null,
        "additionalProperties changed"
    )]
    #[case::rule_added("SPEC/x-kubernetes-validations", json!([{ "rule": "a" }, { "rule": "b" }]), "a new rule may reject")]
    #[case::rule_for_a_known_field("SPEC/x-kubernetes-validations",
        json!([{ "rule": "a" }, { "rule": "b || !has(self.crf)" }]), "a new rule may reject")]
    #[case::rule_for_a_new_field_and_others("SPEC/x-kubernetes-validations",
        json!([{ "rule": "a" }, { "rule": "b && (c || !has(self.preset))" }]), "a new rule may reject")]
    #[case::rule_with_a_condition("SPEC/x-kubernetes-validations",
        json!([{ "rule": "a" }, { "rule": "b ? c : d || !has(self.preset)" }]), "a new rule may reject")]
    #[case::rule_for_new_objects_and_others("SPEC/x-kubernetes-validations",
        json!([{ "rule": "a" }, { "rule": "b", "optionalOldSelf": true }]), "a new rule may reject")]
    #[case::short_name_removed("/spec/names/shortNames", json!([]), "shortNames lost \"cl\"")]
    #[case::plural_changed("/spec/names/plural", json!("clipses"), "plural changed")]
    #[case::scope_changed("/spec/scope", json!("Cluster"), "scope changed")]
    #[case::version_removed("/spec/versions", json!([]), "version v1 was removed")]
    #[case::version_not_served("V1/served", json!(false), "served changed")]
    #[case::status_removed("V1/subresources", json!({ "scale": { "specReplicasPath": ".spec.replicas" } }), "status changed")]
    #[case::scale_changed("V1/subresources/scale", json!({ "specReplicasPath": ".spec.n" }), "scale changed")]
    #[case::not_selectable("V1/selectableFields", json!([]), "selectableFields lost")]
    #[case::column_removed("V1/additionalPrinterColumns", json!([]), "printer column Codec was removed")]
    fn anything_else_is_breaking(#[case] pointer: &str, #[case] value: Value, #[case] expected: &str) {
        let found = breaking_changes(&definition(), &with(pointer, value));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].to_string().contains(expected), "{}", found[0]);
    }
}
