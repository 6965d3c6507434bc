//! TLS between operator and controller, with a certificate that this operator issues.

use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use vmafx_api::VmafxNode;
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::control_plane::SYSTEM;
use crate::controller::Controller;
use crate::harness::Harness;

const SECRET: &str = "vmafx-controller-tls";

/// A pair that nobody trusts.
fn write_untrusted_pair(directory: &Path) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    fs::write(directory.join("tls.crt"), certificate.pem()).unwrap();
    fs::write(directory.join("tls.key"), key.serialize_pem()).unwrap();
}

#[tokio::test]
async fn the_operator_trusts_only_the_certificate_that_it_issued_and_needs_no_restart_for_it() {
    let mounted = tempfile::tempdir().unwrap();
    write_untrusted_pair(mounted.path());
    let file = |name: &str| mounted.path().join(name).display().to_string();
    let controller = Controller::with(|config| {
        ["GRPC", "HTTP"].into_iter().fold(config, |config, protocol| {
            // The clients of this test use no TLS; the operator does.
            config
                .env(&format!("VMAFX_{protocol}_TLS"), "true")
                .env(&format!("VMAFX_{protocol}_TLS_OPTIONAL"), "true")
                .env(&format!("VMAFX_{protocol}_CERT_FILE"), file("tls.crt"))
                .env(&format!("VMAFX_{protocol}_KEY_FILE"), file("tls.key"))
        })
    })
    .await;
    let address = controller.grpc();
    let grpc = format!("localhost:{}", address.port());
    let http = format!("https://localhost:{}", controller.http().port());
    let settings = [
        ("VMAFX_CONTROLLER_GRPC_ADDR", grpc.as_str()),
        ("VMAFX_CONTROLLER_HTTP_ADDR", &http),
        ("VMAFX_CONTROLLER_TLS", "true"),
        ("VMAFX_OPERATOR_CONTROLLER_CERT_SECRET", SECRET),
    ];
    let harness = Harness::reaching(controller, address, &settings).await;
    harness.create("first", json!({})).await;
    let nodes = Api::<VmafxNode>::namespaced(harness.namespace.client(), harness.namespace.name());
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool" },
        "spec": { "gpuVendor": "cpu", "capacity": 1 },
    });
    nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
    let until_agent = async |reason: &str| {
        wait::until(TIMEOUT, reason, || async {
            let node = nodes.get("pool").await.map_err(|error| error.to_string())?;
            let conditions = node.status.map(|status| status.conditions).unwrap_or_default();
            let agent = conditions.into_iter().find(|one| one.type_ == "AgentHealthy");
            if agent.as_ref().is_some_and(|agent| agent.reason == reason) {
                Ok(())
            } else {
                Err(format!("{agent:?}"))
            }
        })
        .await
        .unwrap();
    };
    until_agent("ProbeFailed").await;
    assert_eq!(harness.controller.open_jobs().await.len(), 0, "a job was sent to an untrusted server");

    let secrets = Api::<Secret>::namespaced(harness.namespace.client(), SYSTEM);
    let secret = secrets.get(SECRET).await.unwrap().data.unwrap();
    for name in ["tls.crt", "tls.key"] {
        fs::write(file(name), &secret[name].0).unwrap();
    }
    harness.until_open(1).await;
    // A change makes the operator probe again at once.
    let body = json!({ "metadata": { "labels": { "changed": "now" } } });
    nodes.patch("pool", &PatchParams::default(), &Patch::Merge(body)).await.unwrap();
    until_agent("AwaitingFirstHeartbeat").await;
}
