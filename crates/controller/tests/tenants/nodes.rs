//! For which VmafxNode resources the nodes of a tenant with an issuer of its own report.

use serde_json::json;
use tonic::{Code, Status};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::controller::ControllerServer;

use crate::fixture::{Platform, answered, tenant, token_with};
use crate::issuer::Issuer;

/// Registers a node for the VmafxNode `pool` of a namespace.
async fn register(controller: &ControllerServer, token: &str, namespace: &str) -> Result<(), Status> {
    let resource = wire::ResourceRef {
        cluster: "here".to_owned(),
        namespace: namespace.to_owned(),
        name: "pool".to_owned(),
        uid: "4b2f0c6e-6d2c-4c0e-9a4f-6a3b8d1f7e55".to_owned(),
    };
    let request = wire::RegisterNodeRequest {
        name: "node-0".to_owned(),
        resource: Some(resource),
        ..Default::default()
    };
    let mut client = VmafxControllerClient::new(controller.channel(Some(token)));
    client.register_node(request).await.map(drop)
}

#[tokio::test]
async fn a_node_of_a_tenants_own_issuer_reports_for_the_namespaces_of_its_tenant_only() {
    let (platform, issuer) = (Platform::new().await, Issuer::start().await);
    let controller = platform.config().start().await.unwrap();
    let mut acme = tenant("acme", &issuer);
    acme["namespaces"] = json!(["web", "tv"]);
    acme["rbac"] = json!({"allowedRoles": ["vmafx:reader", "vmafx:node"]});
    platform.apply("acme", acme.clone()).await;
    let node = |subject: &str| {
        token_with(&issuer, "acme", |claims| {
            claims["sub"] = json!(subject);
            claims["vmafx_roles"] = json!("vmafx:node vmafx:reader");
        })
    };
    answered(&controller, &node("laptop"), "/v1/jobs", 200).await;

    // The issuer may choose any subject, also that of a worker of another namespace.
    for subject in ["laptop", "system:serviceaccount:video:vmafx-worker"] {
        let token = node(subject);
        for namespace in ["web", "tv"] {
            register(&controller, &token, namespace).await.unwrap();
        }
        let refused = register(&controller, &token, "video").await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{subject}: {refused}");
        let text = "resource.namespace: the tenant \"acme\" does not list \"video\"";
        assert!(refused.message().starts_with(text), "{refused}");
    }
}
