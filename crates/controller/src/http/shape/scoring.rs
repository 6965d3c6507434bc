//! A scoring request as the HTTP API spells it.
//!
//! The JSON is that of [`ScoringRequest`], except where the first release of this API differs: scaling and length rules
//! in lower case, a size as an object, empty texts for absent options. Requests may use either spelling; responses keep
//! the first one.

use std::borrow::Cow;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use vmafx_job::limits::{MAX_FRAME_STEP, MAX_SCALED_SIDE};
use vmafx_job::{Backend, LengthMismatch, ScaleTo, ScoringRequest};

static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| SchemaGenerator::default().into_root_schema_for::<ScoringRequest>());

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scoring(pub ScoringRequest);

/// Texts whose empty value means that they are absent.
const OPTIONAL_TEXTS: [&str; 3] = ["model", "backend", "reportURI"];

impl Serialize for Scoring {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut document = serde_json::to_value(&self.0).map_err(serde::ser::Error::custom)?;
        if let Value::Object(fields) = &mut document {
            let options = &self.0.options;
            if let Some(scale) = options.scale_to {
                let scale = match scale {
                    ScaleTo::Size(size) => json!({"width": size.width, "height": size.height}),
                    rule => lowercase(&rule),
                };
                fields.insert("scaleTo".to_owned(), scale);
            }
            if let Some(rule) = options.length_mismatch {
                fields.insert("lengthMismatch".to_owned(), lowercase(&rule));
            }
            for (field, absent) in [("model", json!("")), ("backend", json!("")), ("frameStep", json!(0))] {
                fields.entry(field).or_insert(absent);
            }
        }
        document.serialize(to)
    }
}

fn lowercase(name: &impl ToString) -> Value {
    name.to_string().to_ascii_lowercase().into()
}

impl<'de> Deserialize<'de> for Scoring {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(from)?;
        refuse_unknown_fields(&fields, SCHEMA.as_value()).map_err(D::Error::custom)?;
        for field in OPTIONAL_TEXTS {
            if fields.get(field).is_some_and(|text| text == "") {
                fields.remove(field);
            }
        }
        serde_json::from_value(Value::Object(fields.clone())).map(Self).map_err(|error| {
            let field = fields.iter().find_map(|(name, value)| {
                let alone = parse_alone(name, value).err()?;
                Some(format!("scoring.{name}: {alone}"))
            });
            D::Error::custom(field.unwrap_or_else(|| error.to_string()))
        })
    }
}

/// Parses one field together with valid clips, to find the invalid one: errors of flattened fields do not name it.
fn parse_alone(name: &str, value: &Value) -> serde_json::Result<ScoringRequest> {
    let mut document = json!({"reference": "r", "distorted": "d"});
    document[name] = value.clone();
    serde_json::from_value(document)
}

/// Refuses unknown fields, because a misspelled option that is ignored would give a wrong score.
fn refuse_unknown_fields(fields: &Map<String, Value>, schema: &Value) -> Result<(), String> {
    let known = |name: &str| schema["properties"].get(name).is_some();
    match fields.keys().find(|name| !known(name)) {
        Some(unknown) => Err(format!("unknown field `{unknown}`")),
        None => match fields.get("input").and_then(Value::as_object) {
            Some(input) => refuse_unknown_fields(input, &schema["$defs"]["RawVideo"]),
            None => Ok(()),
        },
    }
}

impl JsonSchema for Scoring {
    fn schema_name() -> Cow<'static, str> {
        "Scoring".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ScoringRequest::json_schema(generator);
        schema.insert("additionalProperties".to_owned(), false.into());
        let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
            return schema;
        };
        let side = json!({"type": "integer", "minimum": 1, "maximum": MAX_SCALED_SIDE});
        let rules = [ScaleTo::Reference, ScaleTo::Distorted, ScaleTo::Never];
        let backends =
            Backend::ALL.iter().map(|backend| json!(backend.name())).chain([json!(""), Value::Null]);
        let mismatches = LengthMismatch::ALL.iter().map(lowercase).chain([Value::Null]);
        let respelled = [
            (
                "scaleTo",
                json!({"oneOf": [
                    {"type": "string", "enum": rules.map(|rule| lowercase(&rule))},
                    {"type": "object", "properties": {"width": side, "height": side},
                     "required": ["width", "height"], "additionalProperties": false},
                    {"type": "null"},
                ]}),
            ),
            ("lengthMismatch", json!({"enum": mismatches.collect::<Vec<_>>()})),
            ("frameStep", json!({"type": ["integer", "null"], "minimum": 0, "maximum": MAX_FRAME_STEP})),
            ("backend", json!({"enum": backends.collect::<Vec<_>>()})),
        ];
        for (field, spelling) in respelled {
            let Value::Object(mut spelling) = spelling else { continue };
            let described = properties.get(field).and_then(|old| old.get("description")).cloned();
            spelling.extend(described.map(|text| ("description".to_owned(), text)));
            properties.insert(field.to_owned(), spelling.into());
        }
        for (field, clip) in [("reference", "/clips/reference.y4m"), ("distorted", "/clips/distorted.y4m")] {
            properties[field]["examples"] = json!([clip]);
        }
        schema
    }
}

/// Size of a frame, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Size {
    #[schemars(range(min = 1, max = 9_999))]
    pub width: u32,
    #[schemars(range(min = 1, max = 9_999))]
    pub height: u32,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn responses_keep_the_spelling_of_the_first_release() {
        let sent = json!({
            "reference": "r", "distorted": "d", "model": "m", "backend": "cpu",
            "input": {"width": 2, "height": 2, "pixelFormat": "yuv420p", "bitDepth": 8},
            "features": ["psnr"], "frameStep": 2, "scaleTo": {"width": 640, "height": 360},
            "lengthMismatch": "shortest", "reportURI": "/r.json",
        });
        let read: Scoring = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), sent);
        let rule = json!({"reference": "r", "distorted": "d", "scaleTo": "never"});
        let read: Scoring = serde_json::from_value(rule).unwrap();
        assert_eq!(
            serde_json::to_value(&read).unwrap(),
            json!({"reference": "r", "distorted": "d", "model": "", "backend": "", "frameStep": 0, "scaleTo": "never"})
        );
    }

    #[rstest]
    #[case(json!({"scaleTo": "1920x1080"}))]
    #[case(json!({"scaleTo": "Reference", "lengthMismatch": "Fail"}))]
    #[case(json!({"model": "", "backend": "", "frameStep": 0, "reportURI": ""}))]
    fn both_spellings_are_accepted(#[case] options: Value) {
        let mut document = json!({"reference": "r", "distorted": "d"});
        document.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        assert!(serde_json::from_value::<Scoring>(document).is_ok());
    }

    #[rstest]
    #[case(json!({"frameStepp": 2}), "unknown field `frameStepp`")]
    #[case(json!({"input": {"width": 1, "height": 1, "depth": 8}}), "unknown field `depth`")]
    #[case(json!({"frameStep": 10_001}), "scoring.frameStep: frame step must be between 1 and 10000")]
    #[case(json!({"features": ["vmaf"]}), "scoring.features: unknown variant `vmaf`")]
    fn invalid_options_are_refused(#[case] options: Value, #[case] expected: &str) {
        let mut document = json!({"reference": "r", "distorted": "d"});
        document.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let error = serde_json::from_value::<Scoring>(document).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
