//! The custom resource definitions as they are installed.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, ValidationRule,
};
use kube::{CustomResourceExt, Resource as _};
use vmafx_job::limits::MAX_TRAINING_NAME_LENGTH;

use crate::{VmafxJob, VmafxModelTraining, VmafxNode, VmafxTenant};

pub fn all() -> Vec<CustomResourceDefinition> {
    vec![
        definition::<VmafxJob>(),
        definition::<VmafxNode>(),
        definition::<VmafxModelTraining>(),
        definition::<VmafxTenant>(),
    ]
}

pub fn definition<K: CustomResourceExt>() -> CustomResourceDefinition {
    let mut crd = K::crd();
    for version in &mut crd.spec.versions {
        if let Some(schema) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) {
            tidy(schema);
            schema.x_kubernetes_validations =
                Some(root_rules(&crd.spec.names.kind)).filter(|rules| !rules.is_empty());
        }
    }
    crd
}

/// Rules about the whole object, which the derive cannot express. They were added to a released version, so they hold for
/// new objects only: an object that is stored can still be changed.
fn root_rules(kind: &str) -> Vec<ValidationRule> {
    if kind != VmafxModelTraining::kind(&()) {
        return Vec::new();
    }
    let longest = MAX_TRAINING_NAME_LENGTH;
    vec![ValidationRule {
        rule: format!("oldSelf.hasValue() || size(self.metadata.name) <= {longest}"),
        message: Some(format!(
            "metadata.name must have at most {longest} characters: with a version appended it becomes a tag in the registry"
        )),
        optional_old_self: Some(true),
        ..ValidationRule::default()
    }]
}

/// Removes the description of an enum from its schema. For an optional enum the derive would use it instead of the
/// description of the field, which says more.
pub(crate) fn described_by_its_field(schema: &mut schemars::Schema) {
    schema.remove("description");
}

/// Makes every property optional, as in the released definition.
pub(crate) fn nothing_required(schema: &mut schemars::Schema) {
    schema.remove("required");
}

/// Corrects the derived schema, recursively.
///
/// Optional means "may be left out", not "may be null": the derive marks every `Option` nullable, and then a `null`, as
/// templates write it for an empty value, would be stored and keep the default from being filled in. Without the mark
/// the API server drops it like a field that is not there.
///
/// A type that refuses unknown fields says so in its schema, which the API server does not accept beside properties; it prunes
/// unknown fields or refuses them itself.
///
/// Descriptions lose the line breaks of the source, because `kubectl explain` wraps them to the terminal itself.
fn tidy(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    if let Some(text) = schema.description.as_mut() {
        *text =
            text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
    }
    schema.properties.iter_mut().flat_map(|map| map.values_mut()).for_each(tidy);
    match schema.items.as_mut() {
        Some(JSONSchemaPropsOrArray::Schema(item)) => tidy(item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(tidy),
        None => {}
    }
    match schema.additional_properties.as_mut() {
        Some(JSONSchemaPropsOrBool::Schema(value)) => tidy(value),
        Some(JSONSchemaPropsOrBool::Bool(_)) if schema.properties.is_some() => {
            schema.additional_properties = None;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn schemas() -> Vec<(String, Value)> {
        let schema = |crd: CustomResourceDefinition| {
            (crd.spec.names.plural.clone(), serde_json::to_value(&crd.spec.versions[0].schema).unwrap())
        };
        all().into_iter().map(schema).collect()
    }

    /// Calls `check` with every field and its path.
    fn each_field(path: &str, schema: &Value, check: &mut impl FnMut(&str, &Value)) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            check(&path, field);
            each_field(&path, field, check);
        }
        if schema["items"].is_object() {
            each_field(&format!("{path}[]"), &schema["items"], check);
        }
    }

    /// `kubectl apply` keeps a copy in an annotation, and the sum of those is limited to 256 KiB.
    #[test]
    fn every_definition_is_small_enough_to_be_applied() {
        for crd in all() {
            let size = serde_json::to_vec(&crd).unwrap().len();
            assert!(size < 200_000, "{} has {size} bytes", crd.spec.names.plural);
        }
    }

    #[test]
    fn every_field_is_explained() {
        for (plural, schema) in schemas() {
            each_field(&plural, &schema["openAPIV3Schema"], &mut |path, field| {
                assert!(field["description"].as_str().is_some_and(|text| text.len() > 10), "{path}: {field}");
            });
        }
    }

    #[test]
    fn no_field_may_be_null() {
        for (_, schema) in schemas() {
            assert!(!schema.to_string().contains("nullable"), "{schema}");
        }
    }

    #[test]
    fn conditions_merge_by_type_so_that_two_writers_do_not_overwrite_each_other() {
        for (plural, schema) in schemas() {
            let conditions = &schema["openAPIV3Schema"]["properties"]["status"]["properties"]["conditions"];
            assert_eq!(conditions["x-kubernetes-list-type"], "map", "{plural}");
            assert_eq!(conditions["x-kubernetes-list-map-keys"], serde_json::json!(["type"]), "{plural}");
        }
    }

    #[test]
    fn every_rule_has_a_message() {
        for (_, schema) in schemas() {
            each_field("", &schema, &mut |path, field| {
                for rule in field["x-kubernetes-validations"].as_array().into_iter().flatten() {
                    assert!(rule["message"].is_string(), "{path}: {rule}");
                }
            });
        }
    }
}
