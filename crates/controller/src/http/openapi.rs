//! The document about all of this, `OpenAPI` 3.1, made from the types that are sent and received.

#[cfg(test)]
mod evolution;
mod operation;

use std::sync::OnceLock;

use axum::Json;
use axum::http::Method;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use self::operation::Operation;
use super::problem::Problem;
use super::routes;
use super::shape::{
    AttemptList, CancelJob, EventsQuery, Explanation, Job, JobList, LabelJob, Labelled, ListQuery, NodeList,
    Score, ScoreRequest, SubmitJob, Submitted,
};

pub(super) async fn serve() -> Json<&'static Value> {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    Json(DOCUMENT.get_or_init(document))
}

/// The whole document.
pub(super) fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = SchemaGenerator::from(settings);
    let mut paths = Map::new();
    for operation in operations(&mut schemas) {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        let method = operation.method.as_str().to_ascii_lowercase();
        path[method] = operation.document();
    }
    let error = schemas.subschema_for::<Problem>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "VMAFX controller",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A durable queue of video quality jobs. Errors are {\"error\": \"…\"}.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "responses": {
                "Error": { "description": "What is wrong, and what to do", "content": content(&error.to_value()) },
            },
        },
    })
}

fn content(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

fn schema<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    schemas.subschema_for::<T>().to_value()
}

/// Every route but the document's own, which needs no token and answers with itself.
fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let (get, post) = (Method::GET, Method::POST);
    vec![
        Operation::new(get.clone(), routes::JOBS, "listJobs", "Jobs, a page at a time")
            .query::<ListQuery>(schemas)
            .answers(200, "A page", &schema::<JobList>(schemas)),
        Operation::new(
            post.clone(),
            routes::JOBS,
            "submitJob",
            "Stores a job and answers once it is durable",
        )
        .takes(&schema::<SubmitJob>(schemas))
        .answers(201, "A new job", &schema::<Submitted>(schemas))
        .answers(
            200,
            "The job of an earlier submission with the same key",
            &schema::<Submitted>(schemas),
        ),
        Operation::new(get.clone(), routes::JOB, "getJob", "One job").answers(
            200,
            "It",
            &schema::<Job>(schemas),
        ),
        Operation::new(
            get.clone(),
            routes::ATTEMPTS,
            "listAttempts",
            "How often a job was handed out, and to whom",
        )
        .answers(200, "They", &schema::<AttemptList>(schemas)),
        Operation::new(
            get.clone(),
            routes::EXPLAIN,
            "explainJob",
            "Why a job waits, in words and in numbers",
        )
        .answers(200, "Why", &schema::<Explanation>(schemas)),
        Operation::new(
            post.clone(),
            routes::CANCEL,
            "cancelJob",
            "Ends a job; one that is over is left alone",
        )
        .may_take(&schema::<CancelJob>(schemas))
        .answers(200, "The job afterwards", &schema::<Job>(schemas)),
        Operation::new(
            post.clone(),
            routes::LABEL,
            "labelJob",
            "Says what viewers said, which makes a sample",
        )
        .takes(&schema::<LabelJob>(schemas))
        .answers(200, "It is stored", &schema::<Labelled>(schemas))
        .refuses(409, "The job failed or was cancelled"),
        Operation::new(get.clone(), routes::NODES, "listNodes", "Live nodes").answers(
            200,
            "They",
            &schema::<NodeList>(schemas),
        ),
        Operation::new(get.clone(), routes::EVENTS, "watchJobs", "Changes of jobs as server-sent events")
            .query::<EventsQuery>(schemas)
            .streams("Events `job` and `bookmark`, each with its cursor as id")
            .refuses(410, "The cursor cannot be continued from: begin again without one"),
        Operation::new(post, routes::SCORE, "score", "Submits a job and waits for its score")
            .takes(&schema::<ScoreRequest>(schemas))
            .answers(200, "The score", &schema::<Score>(schemas))
            .refuses(500, "Scoring failed"),
        Operation::new(get, routes::OPENAPI, "openapi", "This document").without_token().answers(
            200,
            "It",
            &json!({ "type": "object" }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_every_route_and_no_other() {
        let document = document();
        let mut written: Vec<(String, String)> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.clone()))
            })
            .collect();
        let mut served: Vec<(String, String)> =
            routes::ALL.iter().map(|(method, path)| (method.to_string(), (*path).to_owned())).collect();
        written.sort();
        served.sort();
        assert_eq!(written, served);
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(map) => {
                    found.extend(map.get("$ref").and_then(Value::as_str));
                    map.values().for_each(|value| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20, "{found:?}");
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}
