//! The `OpenAPI` 3.1 document, generated from the types of the requests and responses.

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
    Score, ScoreRequest, Session, SignIn, SubmitJob, Submitted, UpdateJob,
};

pub(super) async fn serve() -> Json<&'static Value> {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    Json(DOCUMENT.get_or_init(document))
}

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
            "description": "A durable queue of video quality jobs. The body of every error is {\"error\": \"…\"}.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "responses": {
                "Error": { "description": "The error says what is wrong and what to do.", "content": content(&error.to_value()) },
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

fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let get = |path, id, summary| Operation::new(Method::GET, path, id, summary);
    let post = |path, id, summary| Operation::new(Method::POST, path, id, summary);
    vec![
        get(routes::JOBS, "listJobs", "List jobs, one page at a time.").query::<ListQuery>(schemas).responds(
            200,
            "One page of jobs.",
            &schema::<JobList>(schemas),
        ),
        post(routes::JOBS, "submitJob", "Submit a job. The response is sent after the job is stored.")
            .takes(&schema::<SubmitJob>(schemas))
            .responds(201, "A new job was stored.", &schema::<Submitted>(schemas))
            .responds(
                200,
                "A job with this idempotency key exists already; nothing was stored.",
                &schema::<Submitted>(schemas),
            )
            .refuses(409, "The caller used the idempotency key for another request."),
        get(routes::JOB, "getJob", "Get one job.").responds(200, "The job.", &schema::<Job>(schemas)),
        Operation::new(Method::PATCH, routes::JOB, "updateJob", "Change a job that is not finished.")
            .takes(&schema::<UpdateJob>(schemas))
            .responds(200, "The job after the change.", &schema::<Job>(schemas))
            .refuses(409, "The job is finished."),
        get(routes::ATTEMPTS, "listAttempts", "List the attempts of a job.").responds(
            200,
            "The attempts of the job, oldest first.",
            &schema::<AttemptList>(schemas),
        ),
        get(routes::EXPLAIN, "explainJob", "Explain why a job waits.").responds(
            200,
            "The reason why the job waits, with the numbers behind it.",
            &schema::<Explanation>(schemas),
        ),
        post(routes::CANCEL, "cancelJob", "Cancel a job. A finished job is not changed.")
            .may_take(&schema::<CancelJob>(schemas))
            .responds(200, "The job after the cancellation.", &schema::<Job>(schemas)),
        post(
            routes::LABEL,
            "labelJob",
            "Label a job with its ground truth, which makes it a training sample.",
        )
        .takes(&schema::<LabelJob>(schemas))
        .responds(200, "The label was stored.", &schema::<Labelled>(schemas))
        .refuses(409, "The job failed or was cancelled, so it has no features to label."),
        get(routes::NODES, "listNodes", "List the connected nodes.").responds(
            200,
            "The connected nodes, ordered by name.",
            &schema::<NodeList>(schemas),
        ),
        get(routes::EVENTS, "watchJobs", "Watch changes of jobs as server-sent events.")
            .query::<EventsQuery>(schemas)
            .streams("A stream of `job` and `bookmark` events, each with its cursor as id.")
            .refuses(410, "The cursor is not valid any more; watch again without a cursor."),
        post(routes::SCORE, "score", "Submit a job and wait for its score.")
            .takes(&schema::<ScoreRequest>(schemas))
            .responds(200, "The score of the job.", &schema::<Score>(schemas))
            .refuses(500, "The job failed or was cancelled."),
        get(
            routes::SESSION,
            "getSession",
            "Who the caller is, by its token or by the cookie of the dashboard.",
        )
        .without_token()
        .responds(200, "The caller; without one, nobody is signed in.", &schema::<Session>(schemas))
        .refuses(403, "The tenant of the caller is suspended.")
        .refuses(404, "The dashboard is switched off.")
        .refuses(503, "The token cannot be verified now."),
        post(routes::SESSION, "signIn", "Have a browser keep a token in the cookie of the dashboard.")
            .without_token()
            .of_dashboard()
            .takes(&schema::<SignIn>(schemas))
            .responds(
                200,
                "The caller whose token it is; the response sets the cookie.",
                &schema::<Session>(schemas),
            )
            .refuses(400, "The request is invalid, or the token is too long for a cookie.")
            .refuses(401, "The token is invalid.")
            .refuses(403, "The request comes from the page of another site, or the tenant is suspended.")
            .refuses(404, "The dashboard is switched off.")
            .refuses(503, "The token cannot be verified now."),
        Operation::new(Method::DELETE, routes::SESSION, "signOut", "Have a browser forget the cookie.")
            .without_token()
            .of_dashboard()
            .responds(200, "Nobody is signed in.", &schema::<Session>(schemas))
            .refuses(403, "The request comes from the page of another site.")
            .refuses(404, "The dashboard is switched off."),
        get(routes::OPENAPI, "openapi", "Get this document.").without_token().responds(
            200,
            "This document.",
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
