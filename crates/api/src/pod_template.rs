//! A partial Pod template, stored as the user wrote it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Parts of a `PodTemplateSpec` that are merged over the rendered one, lists by the `name` of their items.
///
/// The schema accepts any object: the full Pod schema would make the CRD larger than `kubectl apply` can carry, and
/// would refuse Pod fields newer than this release. If the API server rejects the merged template, a
/// condition says so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartialPodTemplate(pub Map<String, Value>);

impl JsonSchema for PartialPodTemplate {
    fn schema_name() -> Cow<'static, str> {
        "PartialPodTemplate".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}
