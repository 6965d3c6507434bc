//! The served `OpenAPI` document.

use std::collections::BTreeSet;

use serde_json::Value;
use vmafx_controller::auth::permissions;
use vmafx_controller::http::routes;

use crate::controller::Controller;
use crate::http::Http;

#[tokio::test]
async fn the_document_the_router_and_the_table_of_roles_have_the_same_routes() {
    let controller = Controller::start(&[]).await;
    // The document needs no token.
    let document = Http::new(controller.http(), None).get("/openapi.json").await.expect(200);
    let paths = document["paths"].as_object().unwrap();
    let written = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    let served = routes::ALL.iter().map(|(method, path)| format!("{method} {path}"));
    assert_eq!(written.collect::<BTreeSet<_>>(), served.collect());
    for (method, path) in routes::ALL {
        let allowed = permissions::of_http_route(&method, path)
            .unwrap_or_else(|| panic!("{method} {path} is missing in the table of roles"));
        let open =
            document["paths"][path][method.as_str().to_lowercase()]["security"] == Value::Array(vec![]);
        assert_eq!(open, allowed == permissions::Permission::Exempt, "{method} {path}");
    }
}
