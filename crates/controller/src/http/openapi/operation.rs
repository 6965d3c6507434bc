//! Builder for one operation of the document.

use axum::http::Method;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use vmafx_kit::request_origin::{REQUEST_HEADER, REQUEST_VALUE};

pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    document: Map<String, Value>,
    needs_token: bool,
}

impl Operation {
    pub(super) fn new(method: Method, path: &'static str, id: &str, summary: &str) -> Self {
        let mut document = Map::new();
        document.insert("operationId".into(), id.into());
        document.insert("summary".into(), summary.into());
        document.insert("parameters".into(), json!([]));
        document.insert("responses".into(), json!({}));
        let operation = Self { method, path, document, needs_token: true };
        if !path.contains("{id}") {
            return operation;
        }
        let id = json!({ "name": "id", "in": "path", "required": true, "schema": { "type": "string", "format": "uuid" } });
        operation.parameter(id).refuses(404, "The job does not exist.")
    }

    pub(super) fn without_token(mut self) -> Self {
        self.needs_token = false;
        self
    }

    /// Adds the header that every change of the dashboard has.
    pub(super) fn of_dashboard(self) -> Self {
        let schema = json!({ "type": "string", "enum": [REQUEST_VALUE] });
        self.parameter(json!({ "name": REQUEST_HEADER, "in": "header", "required": true, "schema": schema }))
    }

    /// Adds every field of the type as a query parameter.
    pub(super) fn query<Q: JsonSchema>(self, schemas: &mut SchemaGenerator) -> Self {
        let schema = Q::json_schema(schemas).to_value();
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        fields.into_iter().fold(self, |operation, (name, mut schema)| {
            let fields = schema.as_object_mut();
            let description = fields.and_then(|schema| schema.remove("description"));
            operation.parameter(
                json!({ "name": name, "in": "query", "description": description, "schema": schema }),
            )
        })
    }

    fn parameter(mut self, parameter: Value) -> Self {
        if let Some(parameters) = self.document["parameters"].as_array_mut() {
            parameters.push(parameter);
        }
        self
    }

    pub(super) fn takes(self, schema: &Value) -> Self {
        self.body(schema, true)
    }

    pub(super) fn may_take(self, schema: &Value) -> Self {
        self.body(schema, false)
    }

    fn body(mut self, schema: &Value, required: bool) -> Self {
        let body = json!({ "required": required, "content": super::content(schema) });
        self.document.insert("requestBody".into(), body);
        self.refuses(413, "The body is too large.")
    }

    pub(super) fn responds(self, status: u16, description: &str, schema: &Value) -> Self {
        self.response(status, json!({ "description": description, "content": super::content(schema) }))
    }

    pub(super) fn streams(self, description: &str) -> Self {
        let content = json!({ "text/event-stream": { "schema": { "type": "string" } } });
        self.response(200, json!({ "description": description, "content": content }))
    }

    /// All refusals share one response; a reference may replace its description.
    pub(super) fn refuses(self, status: u16, description: &str) -> Self {
        let response = json!({ "$ref": "#/components/responses/Error", "description": description });
        self.response(status, response)
    }

    fn response(mut self, status: u16, response: Value) -> Self {
        self.document["responses"][status.to_string()] = response;
        self
    }

    pub(super) fn document(mut self) -> Value {
        if !self.needs_token {
            self.document.insert("security".into(), json!([]));
            return Value::Object(self.document);
        }
        let all = self
            .refuses(400, "The request is invalid.")
            .refuses(401, "The token is missing or invalid.")
            .refuses(403, "The caller lacks a role, or a clip is outside the scoring roots.")
            .refuses(429, "A limit of the tenant is reached, or too many streams are open.")
            .refuses(503, "The controller is shutting down.")
            .refuses(507, "The store is full.");
        Value::Object(all.document)
    }
}
