//! A misspelt field is refused under strict validation and reported as a warning otherwise.

use http::{Method, Request};
use kube::api::{Api, DynamicObject};
use kube::client::Body;
use serde_json::{Value, json};

use crate::cluster::{ResourceKind, namespace};

/// A request that creates the object with a `fieldValidation` of the caller's choice.
fn create(kind: ResourceKind, namespace: &str, validation: &str) -> Request<Vec<u8>> {
    let resource = kind.resource();
    let path = format!("/apis/{}/namespaces/{namespace}/{}", resource.api_version, resource.plural);
    Request::builder()
        .method(Method::POST)
        .uri(format!("{path}?fieldValidation={validation}"))
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&misspelt(kind)).unwrap())
        .unwrap()
}

fn misspelt(kind: ResourceKind) -> Value {
    let mut object = kind.valid("misspelt");
    object["spec"]["prioritty"] = json!(7);
    object
}

#[tokio::test]
async fn strict_validation_refuses_a_field_that_does_not_exist() {
    let ns = namespace("unknown").await;
    for kind in ResourceKind::ALL {
        let answer = ns.client().request::<Value>(create(kind, ns.name(), "Strict")).await;
        let message = answer.expect_err("accepted").to_string();
        assert!(message.contains(r#"unknown field "spec.prioritty""#), "{message}");
    }
}

#[tokio::test]
async fn otherwise_a_field_that_does_not_exist_is_reported_as_a_warning() {
    let ns = namespace("unknown").await;
    for kind in ResourceKind::ALL {
        let response = ns.client().send(create(kind, ns.name(), "Warn").map(Body::from)).await.unwrap();
        assert_eq!(response.status(), 201);
        let warnings =
            response.headers().get_all("warning").iter().map(|w| w.to_str().unwrap()).collect::<String>();
        assert!(warnings.contains(r#"unknown field \"spec.prioritty\""#), "{warnings}");

        let objects: Api<DynamicObject> = Api::namespaced_with(ns.client(), ns.name(), &kind.resource());
        let stored = objects.get("misspelt").await.unwrap();
        assert_eq!(stored.data["spec"].get("prioritty"), None);
    }
}
