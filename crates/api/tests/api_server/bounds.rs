//! Every limit of the schema, tried with a value just beyond it.
//!
//! The cases are generated from the schema, so a limit cannot be added without a test. CEL rules cannot be generated and
//! have their own table in `rules.rs`.

use serde_json::{Value, json};

use crate::cluster::{Objects, ResourceKind, namespace};
use crate::paths;

/// An invalid value at a path (`None`: absent), and what the API server must reply.
struct Case {
    path: String,
    value: Option<Value>,
    complaint: String,
}

#[tokio::test]
async fn every_limit_of_the_schema_is_enforced_and_named() {
    let ns = namespace("bounds").await;
    let mut tried = 0;
    for kind in ResourceKind::ALL {
        let objects = Objects::new(ns.client(), ns.name(), kind);
        let valid = kind.valid("valid");
        objects.create(&valid).await.unwrap();
        objects.patch_status(&valid).await.unwrap();
        for case in cases(&kind.schema()) {
            let in_status = case.path.starts_with(".status");
            let mut broken = kind.valid(if in_status { "valid" } else { "broken" });
            paths::set(&mut broken, &case.path, case.value.clone());
            let answer =
                if in_status { objects.patch_status(&broken).await } else { objects.create(&broken).await };
            let message = match answer {
                Err(refusal) => refusal.message,
                Ok(_) => panic!("{kind:?} accepted {:?} at {}", case.value, case.path),
            };
            let field = case.path.trim_start_matches('.').replace("[]", "[0]").replace("{}", ".key");
            assert!(message.contains(&field), "{message}\ndoes not name {field}");
            assert!(message.contains(&case.complaint), "{message}\ndoes not say: {}", case.complaint);
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} limits found: the walk over the schema misses something");
}

fn cases(schema: &Value) -> Vec<Case> {
    paths::subschemas(schema).iter().flat_map(|(path, schema)| field_cases(path, schema)).collect()
}

fn field_cases(path: &str, schema: &Value) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |value: Value, complaint: &str| {
        cases.push(Case { path: path.into(), value: Some(value), complaint: complaint.into() });
    };
    if let Some(wrong) = wrong_type(schema) {
        let format = schema["format"].as_str().filter(|_| schema["type"] == "string");
        let name = format.unwrap_or_else(|| schema["type"].as_str().unwrap());
        case(wrong, &format!("must be of type {name}"));
    }
    if schema["enum"].is_array() {
        case(if schema["type"] == "integer" { json!(9) } else { json!("bogus") }, "Unsupported value");
    }
    if let Some(min) = schema["minimum"].as_f64() {
        case(number(schema, min - 1.0), "should be greater than or equal to");
    }
    if let Some(max) = schema["maximum"].as_f64() {
        case(number(schema, max + 1.0), "should be less than or equal to");
    }
    if schema["minLength"] == 1 {
        case(json!(""), "should be at least 1 chars long");
    }
    if let Some(max) = schema["maxLength"].as_u64() {
        // Kubernetes 1.31 says "longer than", later releases say "more than".
        case(json!("x".repeat(usize::try_from(max).unwrap() + 1)), "Too long: may not be");
    }
    if schema["pattern"].is_string() {
        case(json!("-not this-"), "should match");
    }
    if schema["format"] == "date-time" {
        case(json!("yesterday"), "must be of type date-time");
    }
    if schema["format"] == "uri" {
        case(json!("login.example"), "must be of type uri");
    }
    if schema["maxItems"].is_u64() {
        let item = if schema["items"]["type"] == "string" { json!("psnr") } else { json!({}) };
        case(Value::Array(vec![item; 65]), "must have at most");
    }
    // A merge patch cannot remove a required field of `status`, except inside a list, which it replaces as a whole.
    for field in schema["required"].as_array().into_iter().flatten() {
        let path = format!("{path}.{}", field.as_str().unwrap());
        if path.starts_with(".spec") || path.contains("[]") {
            cases.push(Case { path, value: None, complaint: "Required value".into() });
        }
    }
    cases
}

fn wrong_type(schema: &Value) -> Option<Value> {
    match schema["type"].as_str()? {
        "string" | "array" => Some(json!(1)),
        "boolean" | "integer" | "number" | "object" => Some(json!("text")),
        other => panic!("type {other}"),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "bounds are small whole numbers")]
fn number(schema: &Value, value: f64) -> Value {
    if schema["type"] == "integer" { json!(value as i64) } else { json!(value) }
}
