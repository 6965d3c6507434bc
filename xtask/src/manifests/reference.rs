//! The API reference `docs/api.md`, generated from the CRDs.

use std::fmt::Write as _;

use serde_json::Value;
use vmafx_api::conditions::{JobCondition, NodeCondition, Reason, TenantCondition, TrainingCondition};

pub(super) fn render(crds: &[&Value]) -> String {
    let mut page = String::from(
        "<!-- Generated from crates/api by `make manifests`. Do not edit. -->\n\
         # API reference: `vmafx.dev/v1`\n\n\
         All resources are namespaced and have a status subresource. `kubectl explain` shows the same texts.\n\
         Within v1 the API only grows: fields, enum values and columns are added, never taken away or narrowed.\n",
    );
    for crd in crds {
        kind(&mut page, crd);
    }
    reasons(&mut page);
    page
}

fn kind(page: &mut String, crd: &Value) {
    let names = &crd["spec"]["names"];
    let version = &crd["spec"]["versions"][0];
    let schema = &version["schema"]["openAPIV3Schema"];
    let kind = names["kind"].as_str().unwrap_or_default();
    let short = strings(&names["shortNames"]).join("`, `");
    _ = write!(page, "\n## {kind}\n\n{}\n\nShort name: `{short}`. ", text(&schema["description"]));
    let columns = version["additionalPrinterColumns"].as_array();
    let titles = |wide: bool| {
        let columns =
            columns.into_iter().flatten().filter(|c| c["priority"].as_i64().is_some_and(|p| p > 0) == wide);
        columns.map(|c| text(&c["name"])).collect::<Vec<_>>().join(", ")
    };
    _ = writeln!(page, "Columns: {}; with `-o wide` also {}.", titles(false), titles(true));
    let selectable = version["selectableFields"].as_array().into_iter().flatten();
    let selectable = selectable.map(|f| format!("`{}`", text(&f["jsonPath"]).trim_start_matches('.')));
    _ = writeln!(page, "Field selectors: {}.", selectable.collect::<Vec<_>>().join(", "));
    for part in ["spec", "status"] {
        let schema = &schema["properties"][part];
        _ = writeln!(page, "\n### {kind} {part}\n\n{}\n", text(&schema["description"]));
        _ = writeln!(page, "| field | type | rules | meaning |\n|---|---|---|---|");
        fields(page, "", schema);
        rules(page, schema);
    }
    match kind {
        "VmafxJob" => conditions(page, JobCondition::ALL.iter().map(|c| (c.as_str(), c.meaning()))),
        "VmafxNode" => conditions(page, NodeCondition::ALL.iter().map(|c| (c.as_str(), c.meaning()))),
        "VmafxTenant" => conditions(page, TenantCondition::ALL.iter().map(|c| (c.as_str(), c.meaning()))),
        _ => conditions(page, TrainingCondition::ALL.iter().map(|c| (c.as_str(), c.meaning()))),
    }
}

fn fields(page: &mut String, prefix: &str, schema: &Value) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}{name}");
        let required = strings(&schema["required"]).contains(&name.as_str());
        let meaning = text(&field["description"]).replace("\n\n", "<br>").replace('|', "\\|");
        _ = writeln!(page, "| `{path}` | {} | {} | {meaning} |", type_of(field), limits(field, required));
        // These are Kubernetes' own types, which are documented elsewhere.
        if !["resources", "tolerations", "conditions"].contains(&path.as_str()) {
            fields(page, &format!("{path}."), field);
            fields(page, &format!("{path}[]."), &field["items"]);
        }
    }
}

fn type_of(field: &Value) -> String {
    if field["x-kubernetes-int-or-string"] == true {
        return "quantity".into();
    }
    match text(&field["type"]) {
        "array" => format!("list of {}", type_of(&field["items"])),
        "object" if field["additionalProperties"].is_object() => {
            format!("map to {}", type_of(&field["additionalProperties"]))
        }
        "string" if field["format"] == "date-time" => "time".into(),
        other => other.into(),
    }
}

/// Required, default, enum and bounds, in that order.
fn limits(field: &Value, required: bool) -> String {
    let mut parts = Vec::new();
    if required {
        parts.push("required".to_owned());
    }
    if !field["default"].is_null() {
        parts.push(format!("default `{}`", field["default"]));
    }
    let values = field["enum"].as_array().or_else(|| field["items"]["enum"].as_array());
    if let Some(values) = values {
        parts.push(values.iter().map(|v| format!("`{}`", plain(v))).collect::<Vec<_>>().join(" "));
    }
    for (key, sign) in
        [("minimum", "≥"), ("maximum", "≤"), ("maxLength", "length ≤"), ("maxItems", "items ≤")]
    {
        if !field[key].is_null() {
            parts.push(format!("{sign} {}", field[key]));
        }
    }
    let rules = field["x-kubernetes-validations"].as_array().into_iter().flatten();
    parts.extend(rules.map(|rule| text(&rule["message"]).replace('|', "\\|")));
    parts.join("; ")
}

/// CEL rules over several fields, or over the old and new value of a field.
fn rules(page: &mut String, schema: &Value) {
    let rules = schema["x-kubernetes-validations"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !rules.is_empty() {
        page.push_str("\nFurther rules:\n\n");
        for rule in rules {
            let field = text(&rule["fieldPath"]).trim_start_matches('.');
            _ = writeln!(page, "- `{field}` {}", text(&rule["message"]));
        }
    }
}

fn conditions(page: &mut String, rows: impl Iterator<Item = (&'static str, &'static str)>) {
    table(page, "\nConditions:\n\n| type | True means |", rows);
}

fn reasons(page: &mut String) {
    page.push_str(
        "\n## Reasons\n\nThe closed list of reasons; conditions, events and metrics use the same words.\n",
    );
    table(page, "\n| reason | meaning |", Reason::ALL.iter().map(|r| (r.as_str(), r.meaning())));
}

fn table(page: &mut String, head: &str, rows: impl Iterator<Item = (&'static str, &'static str)>) {
    _ = writeln!(page, "{head}\n|---|---|");
    for (word, meaning) in rows {
        _ = writeln!(page, "| `{word}` | {} |", meaning.trim());
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(text).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
