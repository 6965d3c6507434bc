//! The document that is served.

use std::collections::BTreeSet;

use serde_json::Value;
use vmafx_controller::auth::table;
use vmafx_controller::http::routes;

use crate::controller::Controller;
use crate::http::Http;

#[tokio::test]
async fn the_document_the_router_and_the_table_of_roles_know_the_same_routes() {
    let controller = Controller::start(&[]).await;
    // Whoever wants to call must be able to read how.
    let document = Http::new(controller.http, None).get("/openapi.json").await.expect(200);
    let paths = document["paths"].as_object().unwrap();
    let written = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    let served = routes::ALL.iter().map(|(method, path)| format!("{method} {path}"));
    assert_eq!(written.collect::<BTreeSet<_>>(), served.collect());
    for (method, path) in routes::ALL {
        let allowed = table::http(&method, path).unwrap_or_else(|| panic!("{method} {path} is for nobody"));
        let open =
            document["paths"][path][method.as_str().to_lowercase()]["security"] == Value::Array(vec![]);
        assert_eq!(open, allowed == table::Entry::Exempt, "{method} {path}");
    }
}
