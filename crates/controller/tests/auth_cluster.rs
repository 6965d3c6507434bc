//! Tokens of a real Kubernetes, verified with its own keys and with the settings of the chart: without any secret, and with
//! the issuer that the controller's own token names.
#![allow(clippy::unwrap_used, reason = "test code")]

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use vmafx_controller::auth::{AuthArgs, AuthMetrics, Clocks};
use vmafx_controller::identity::{Role, Roles};
use vmafx_controller::refusal::Refusal;
use vmafx_controller::roots::RootsArgs;
use vmafx_kit::config::{Environment, parse};
use vmafx_testkit::kube::{ControlPlane, TestNamespace};

#[derive(Debug, clap::Parser)]
struct Args {
    #[command(flatten)]
    auth: AuthArgs,
}

/// A token as the kubelet would mount it.
async fn token(namespace: &TestNamespace, account: &str, audience: &str) -> String {
    let spec = TokenRequestSpec { audiences: Some(vec![audience.to_owned()]), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
    let accounts = Api::<ServiceAccount>::namespaced(namespace.client(), namespace.name());
    let made = accounts.create_token_request(account, &PostParams::default(), &request).await.unwrap();
    made.status.unwrap().token.unwrap()
}

#[tokio::test]
async fn a_service_account_is_authenticated_by_the_keys_of_its_cluster() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("auth").await.unwrap();
    let accounts = Api::<ServiceAccount>::namespaced(namespace.client(), namespace.name());
    for name in ["vmafx-node", "vmafx-controller", "stranger"] {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let account = ServiceAccount { metadata, ..ServiceAccount::default() };
        accounts.create(&PostParams::default(), &account).await.unwrap();
    }

    let directory = tempfile::tempdir().unwrap();
    let (ca, own) = (directory.path().join("ca.crt"), directory.path().join("token"));
    let pem = cluster.config().root_cert.as_ref().unwrap().iter().map(|der| pem(der)).collect::<String>();
    std::fs::write(&ca, pem).unwrap();
    let server = "https://kubernetes.default.svc";
    std::fs::write(&own, token(&namespace, "vmafx-controller", server).await).unwrap();
    let url = cluster.config().cluster_url.to_string();
    let account = |name: &str| format!("system:serviceaccount:{}:{name}", namespace.name());
    let env: Environment = [
        ("VMAFX_JWKS_ENDPOINT", format!("{}/openid/v1/jwks", url.trim_end_matches('/'))),
        ("VMAFX_JWKS_CA_FILE", ca.to_str().unwrap().to_owned()),
        ("VMAFX_JWKS_TOKEN_FILE", own.to_str().unwrap().to_owned()),
        ("VMAFX_AUTH_AUDIENCE", "vmafx".to_owned()),
        ("VMAFX_AUTH_SUBJECTS", format!("{}=vmafx:node", account("vmafx-node"))),
        ("VMAFX_AUTH_DEFAULT_TENANT", "studio".to_owned()),
    ]
    .into_iter()
    .collect();
    let args = parse::<Args>(["t"], &env, &[]).unwrap();
    let access =
        args.auth.open(&RootsArgs::default(), Clocks::system(), AuthMetrics::default()).await.unwrap();
    let identify = async |token: String| access.authenticator.authenticate(Some(&token)).await;

    let node = identify(token(&namespace, "vmafx-node", "vmafx").await).await.unwrap();
    assert_eq!((node.tenant.as_str(), node.roles), ("studio", Roles::of(&[Role::Node])));
    assert_eq!(node.subject, account("vmafx-node"));
    // Its audience is the API server.
    let elsewhere = identify(token(&namespace, "vmafx-node", server).await).await;
    assert_eq!(elsewhere, Err(Refusal::Unauthenticated));
    let stranger = identify(token(&namespace, "stranger", "vmafx").await).await;
    assert_eq!(stranger, Err(Refusal::Incomplete("tenant_id not found in token")));
}

fn pem(der: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}
