//! The evolution gate: the `OpenAPI` document only grows.
//!
//! `tests/baseline/openapi.json` is the document of the last release. Whatever a client of that release sends must still be
//! accepted, and whatever it reads must still be there: no path, method, response code or property may go, no request
//! property may become required or narrower, no response property may become optional or change its type.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Whether clients send or receive the values of a schema.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Request,
    Response,
}

struct Documents<'a> {
    old: &'a Value,
    new: &'a Value,
    breaches: Vec<String>,
}

/// Everything that `new` takes away from clients of `old`.
fn breaches(old: &Value, new: &Value) -> Vec<String> {
    let mut documents = Documents { old, new, breaches: Vec::new() };
    for (path, methods) in object(&old["paths"]) {
        for (method, operation) in object(methods) {
            documents.operation(&format!("{method} {path}"), operation, &new["paths"][path][method]);
        }
    }
    documents.breaches
}

impl Documents<'_> {
    fn breach(&mut self, path: &str, problem: impl Into<String>) {
        self.breaches.push(format!("{path}: {}", problem.into()));
    }

    fn operation(&mut self, path: &str, old: &Value, new: &Value) {
        if new.is_null() {
            return self.breach(path, "was removed");
        }
        let parameter = |operation: &Value, name: &Value| {
            list(&operation["parameters"]).iter().find(|one| one["name"] == *name).cloned()
        };
        for one in list(&old["parameters"]) {
            let path = format!("{path} ?{}", text(&one["name"]));
            match parameter(new, &one["name"]) {
                Some(now) => self.schema(Direction::Request, &path, &one["schema"], &now["schema"]),
                None => self.breach(&path, "was removed"),
            }
        }
        for one in list(&new["parameters"]) {
            let optional = parameter(old, &one["name"]).is_none_or(|before| before["required"] != true);
            if one["required"] == true && optional {
                self.breach(path, format!("{} became required", one["name"]));
            }
        }
        let body = |value: &Value| value["content"]["application/json"]["schema"].clone();
        let (old_body, new_body) = (body(&old["requestBody"]), body(&new["requestBody"]));
        self.schema(Direction::Request, &format!("{path} request"), &old_body, &new_body);
        for (code, response) in object(&old["responses"]) {
            let path = format!("{path} {code}");
            match new["responses"].get(code) {
                Some(now) => self.schema(Direction::Response, &path, &body(response), &body(now)),
                None => self.breach(&path, "was removed"),
            }
        }
    }

    fn schema(&mut self, direction: Direction, path: &str, old: &Value, new: &Value) {
        let (old, new) = (resolved(old, self.old), resolved(new, self.new));
        // Equal schemas are compared too, because what they refer to may differ.
        if old.is_null() {
            return;
        }
        let before = alternatives(&old);
        if !before.is_empty() && values(&old).is_none() {
            for one in before {
                let kept = alternatives(&new).into_iter().any(|now| {
                    let mut trial = Documents { old: self.old, new: self.new, breaches: Vec::new() };
                    trial.schema(direction, path, one, now);
                    trial.breaches.is_empty()
                });
                if !kept {
                    self.breach(path, format!("an alternative was removed: {one}"));
                }
            }
            return;
        }
        let (wide, narrow) = match direction {
            Direction::Request => (types(&new), types(&old)),
            Direction::Response => (types(&old), types(&new)),
        };
        if !wide.is_empty() && !narrow.is_subset(&wide) {
            self.breach(path, format!("the type changed from {} to {}", old["type"], new["type"]));
        }
        if direction == Direction::Request {
            self.not_narrower(path, &old, &new);
        }
        self.properties(direction, path, &old, &new);
        self.schema(direction, &format!("{path}[]"), &old["items"], &new["items"]);
    }

    fn not_narrower(&mut self, path: &str, old: &Value, new: &Value) {
        let (before, now) = (values(old), values(new));
        if let Some(now) = now
            && before.is_none_or(|before| !before.is_subset(&now))
        {
            self.breach(path, "an accepted value was removed");
        }
        for (bound, grows) in [
            ("minimum", false),
            ("minLength", false),
            ("minItems", false),
            ("maximum", true),
            ("maxLength", true),
            ("maxItems", true),
        ] {
            let Some(now) = new[bound].as_f64() else { continue };
            let wider =
                old[bound].as_f64().is_some_and(|before| if grows { now >= before } else { now <= before });
            // A new minimum of 0 refuses nothing, because these numbers and lengths cannot be negative.
            if !wider && (now != 0.0 || grows) {
                self.breach(path, format!("{bound} is narrower"));
            }
        }
        if new["pattern"].is_string() && new["pattern"] != old["pattern"] {
            self.breach(path, "the pattern changed");
        }
    }

    fn properties(&mut self, direction: Direction, path: &str, old: &Value, new: &Value) {
        let required = |schema: &Value| {
            list(&schema["required"]).iter().map(|name| text(name).to_owned()).collect::<BTreeSet<_>>()
        };
        for (name, property) in object(&old["properties"]) {
            let path = format!("{path}.{name}");
            match new["properties"].get(name) {
                Some(now) => self.schema(direction, &path, property, now),
                None => self.breach(&path, "was removed"),
            }
        }
        let (before, now) = (required(old), required(new));
        let lost = match direction {
            Direction::Request => now.difference(&before).cloned().collect::<Vec<_>>(),
            Direction::Response => before.difference(&now).cloned().collect::<Vec<_>>(),
        };
        for name in lost {
            let problem = if direction == Direction::Request { "became required" } else { "became optional" };
            self.breach(&format!("{path}.{name}"), problem);
        }
    }
}

/// Resolves references and drops the alternative `null`.
fn resolved(schema: &Value, document: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.trim_start_matches('#')).cloned().unwrap_or_default();
        return resolved(&target, document);
    }
    match alternatives(schema).as_slice() {
        [one] => resolved(one, document),
        _ => schema.clone(),
    }
}

/// The alternatives of a schema, except `null`.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let all = list(&schema["oneOf"]).iter().chain(list(&schema["anyOf"]));
    all.filter(|one| one["type"] != "null").collect()
}

fn types(schema: &Value) -> BTreeSet<&str> {
    let named: Vec<&Value> = match &schema["type"] {
        Value::Array(all) => all.iter().collect(),
        one => vec![one],
    };
    named.into_iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
}

/// The values of an enum, written as `enum`, `const`, alternatives of `const`, or a pattern of alternatives.
fn values(schema: &Value) -> Option<BTreeSet<String>> {
    if let Some(all) = schema["enum"].as_array() {
        return Some(all.iter().filter(|one| !one.is_null()).map(ToString::to_string).collect());
    }
    if let Some(one) = schema.get("const") {
        return Some([one.to_string()].into());
    }
    let constants = list(&schema["oneOf"]);
    if !constants.is_empty() && constants.iter().all(|one| one.get("const").is_some()) {
        return Some(constants.iter().map(|one| one["const"].to_string()).collect());
    }
    let words = schema["pattern"].as_str()?.strip_prefix("^(")?.strip_suffix(")$")?;
    let plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    words.split('|').all(plain).then(|| words.split('|').map(|word| format!("{word:?}")).collect())
}

fn object(value: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.as_object().unwrap_or(&EMPTY)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const BASELINE: &str = include_str!("../../../tests/baseline/openapi.json");

    #[test]
    fn clients_of_the_last_release_still_work() {
        let old: Value = serde_json::from_str(BASELINE).unwrap();
        let found = breaches(&old, &super::super::document());
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    fn document(request: &Value, response: &Value) -> Value {
        let content = |schema: &Value| json!({"content": {"application/json": {"schema": schema}}});
        json!({"paths": {"/jobs": {"post": {
            "requestBody": content(request), "responses": {"200": content(response)},
        }}}})
    }

    fn base() -> Value {
        json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "string", "enum": ["x", "y"]}, "b": {"type": "integer", "maximum": 9},
        }})
    }

    fn changed(pointer: &str, value: Value) -> Value {
        let mut schema = base();
        *schema.pointer_mut(pointer).unwrap() = value;
        schema
    }

    #[rstest]
    #[case::value(changed("/properties/a/enum", json!(["x", "y", "z"])))]
    #[case::bound(changed("/properties/b/maximum", json!(10)))]
    #[case::optional(changed("/required", json!([])))]
    #[case::property(changed("/properties/b", json!({"type": ["integer", "string"]})))]
    fn a_request_may_accept_more(#[case] request: Value) {
        assert_eq!(breaches(&document(&base(), &base()), &document(&request, &base())), [""; 0]);
    }

    #[rstest]
    #[case::value(changed("/properties/a/enum", json!(["x"])), "post /jobs request.a: an accepted value was removed")]
    #[case::bound(changed("/properties/b/maximum", json!(8)), "post /jobs request.b: maximum is narrower")]
    #[case::required(changed("/required", json!(["a", "b"])), "post /jobs request.b: became required")]
    #[case::kind(changed("/properties/b", json!({"type": "string"})), "post /jobs request.b: the type changed from \"integer\" to \"string\"")]
    #[case::gone(changed("/properties", json!({"a": {"type": "string", "enum": ["x", "y"]}})), "post /jobs request.b: was removed")]
    fn a_request_must_not_accept_less(#[case] request: Value, #[case] expected: &str) {
        assert_eq!(breaches(&document(&base(), &base()), &document(&request, &base())), [expected]);
    }

    #[rstest]
    #[case::optional(changed("/required", json!([])), "post /jobs 200.a: became optional")]
    #[case::kind(changed("/properties/b", json!({"type": ["integer", "string"]})), "post /jobs 200.b: the type changed from \"integer\" to [\"integer\",\"string\"]")]
    fn a_response_must_keep_what_clients_read(#[case] response: Value, #[case] expected: &str) {
        assert_eq!(breaches(&document(&base(), &base()), &document(&base(), &response)), [expected]);
    }

    #[test]
    fn a_change_behind_an_unchanged_reference_is_found() {
        let with = |referenced: Value| {
            let mut all = document(&json!({"$ref": "#/components/schemas/A"}), &base());
            all["components"] = json!({"schemas": {
                "A": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/B"}}}, "B": referenced,
            }});
            all
        };
        let constants =
            json!({"oneOf": [{"const": "x", "type": "string"}, {"const": "y", "type": "string"}]});
        assert_eq!(breaches(&with(constants.clone()), &with(json!({"enum": ["x", "y", null]}))), [""; 0]);
        let expected = "post /jobs request.b: an accepted value was removed";
        assert_eq!(breaches(&with(constants), &with(json!({"enum": ["x"]}))), [expected]);
    }

    #[test]
    fn an_operation_must_stay() {
        let old = document(&base(), &base());
        assert_eq!(breaches(&old, &json!({"paths": {}})), ["post /jobs: was removed"]);
    }
}
