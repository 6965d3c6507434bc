//! A controller that requires client certificates, and nodes with the certificates that the operator issued. The test does
//! what the kubelet does: it copies Secrets into files.

use std::fs;
use std::path::Path;

use clap::Parser;
use k8s_openapi::jiff::SignedDuration;
use tonic::Code;
use vmafx_kit::channel::{ChannelArgs, GrpcChannel, streaming};
use vmafx_operator::authority::authorities::{PUBLISHED_FOR, TRUSTED_FOR};
use vmafx_operator::authority::ca::AUTHORITY_REPLACED_BEFORE;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::controller::{ControllerConfig, ControllerServer};
use vmafx_testkit::kube::TestNamespace;
use vmafx_testkit::wait;

use crate::fixture::IssuerFixture;
use crate::served::{TIMEOUT, with_tls};

#[derive(Parser)]
struct ClientSettings {
    #[command(flatten)]
    channel: ChannelArgs,
}

type Client = VmafxControllerClient<GrpcChannel>;

const OTHER_TOKEN: &str = "the-token-of-a-reader-and-writer-123";
const MACHINE_TOKEN: &str = "the-token-of-a-machine-outside-12345";

/// A token of the ServiceAccount for workers in this namespace.
fn token(namespace: &TestNamespace) -> String {
    format!("the-token-of-a-worker-in-{}", namespace.name())
}

/// A controller with tokens of workers in both namespaces, of a machine outside the cluster, and of another client.
fn requiring(fixture: &IssuerFixture, mounted: &Path) -> ControllerConfig {
    let of_workers = [&fixture.own, &fixture.workers].map(|namespace| {
        let (token, name) = (token(namespace), namespace.name());
        let subject = format!("system:serviceaccount:{name}:vmafx-worker");
        format!("- {{ token: {token}, tenant: default, subject: '{subject}', roles: [vmafx:node] }}\n")
    });
    let tokens = format!(
        "tokens:\n\
         - {{ token: {OTHER_TOKEN}, tenant: default, roles: [vmafx:writer, vmafx:reader] }}\n\
         - {{ token: {MACHINE_TOKEN}, tenant: default, roles: [vmafx:node] }}\n{}",
        of_workers.concat()
    );
    with_tls(mounted)
        .tokens(&tokens)
        .env("VMAFX_GRPC_CLIENT_CA_FILE", mounted.join("ca.crt").display().to_string())
        .env("VMAFX_GRPC_CLIENT_CERTS_REQUIRED", "true")
}

/// Copies the controller's Secret into its volume, and that of each namespace into a directory of its name.
async fn mount(fixture: &IssuerFixture, directory: &Path) {
    for (name, text) in fixture.secret().await {
        fs::write(directory.join(name), text).unwrap();
    }
    for namespace in [&fixture.own, &fixture.workers] {
        let of_namespace = directory.join(namespace.name());
        fs::create_dir_all(&of_namespace).unwrap();
        for (name, text) in fixture.client_secret(namespace).await {
            fs::write(of_namespace.join(name), text).unwrap();
        }
    }
}

/// A client with a connection of its own.
fn client(
    controller: &ControllerServer,
    authorities: &Path,
    certificate: Option<&Path>,
    token: &str,
) -> Client {
    let mut arguments = vec![
        "t".to_owned(),
        "--controller-tls".to_owned(),
        format!("--controller-ca-file={}", authorities.join("ca.crt").display()),
        format!("--controller-token={token}"),
    ];
    if let Some(directory) = certificate {
        arguments.push(format!("--controller-cert-file={}", directory.join("tls.crt").display()));
        arguments.push(format!("--controller-key-file={}", directory.join("tls.key").display()));
    }
    let settings = ClientSettings::parse_from(arguments);
    let address = format!("localhost:{}", controller.grpc().port());
    VmafxControllerClient::new(settings.channel.open(&address.parse().unwrap()).unwrap())
}

async fn register(
    client: &mut Client,
    namespace: &TestNamespace,
) -> Result<wire::RegisterNodeResponse, tonic::Status> {
    let request = wire::RegisterNodeRequest {
        name: "node".to_owned(),
        capability: Some(wire::NodeCapability { concurrency: 1, ..wire::NodeCapability::default() }),
        resource: Some(wire::ResourceRef {
            cluster: "here".to_owned(),
            namespace: namespace.name().to_owned(),
            name: "pool".to_owned(),
            uid: "u".to_owned(),
        }),
    };
    Ok(client.register_node(request).await?.into_inner())
}

fn heartbeat(registered: &wire::RegisterNodeResponse) -> wire::HeartbeatRequest {
    wire::HeartbeatRequest {
        node_id: registered.node_id.clone(),
        session_token: registered.session_token.clone(),
        ..wire::HeartbeatRequest::default()
    }
}

#[tokio::test]
async fn a_node_needs_a_certificate_of_its_own_namespace_and_other_clients_need_none() {
    let mut fixture = IssuerFixture::with_clients("mutual").await;
    let mut stranger = IssuerFixture::with_clients("stranger").await;
    let (mounted, strange) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (fixture, directory) in [(&mut fixture, &mounted), (&mut stranger, &strange)] {
        fixture.issuer.refresh().await.unwrap();
        mount(fixture, directory.path()).await;
    }
    let directory = mounted.path();
    let controller = requiring(&fixture, directory).start().await.unwrap();
    let (own, workers) = (&fixture.own, &fixture.workers);
    let certificate = |namespace: &TestNamespace| directory.join(namespace.name());
    let refused = async |certificate: Option<&Path>, token: &str, namespace: &TestNamespace| {
        let mut client = client(&controller, directory, certificate, token);
        let status = register(&mut client, namespace).await.unwrap_err();
        (status.code(), status.message().to_owned())
    };

    let (code, message) = refused(None, &token(workers), workers).await;
    assert_eq!(code, Code::PermissionDenied);
    assert!(message.contains("VMAFX_CONTROLLER_CERT_FILE"), "{message}");

    let of_stranger = strange.path().join(stranger.workers.name());
    let (code, message) = refused(Some(&of_stranger), &token(workers), workers).await;
    assert_eq!(code, Code::Unavailable, "{message}");
    assert!(message.contains("it refused the client certificate in"), "{message}");

    // The certificate of the controller itself is none of a client.
    let (code, message) = refused(Some(directory), &token(workers), workers).await;
    assert_eq!(code, Code::Unavailable, "{message}");

    // The token decides for whom a Pod works, the registration for whom a machine does.
    for token in [&token(workers), MACHINE_TOKEN] {
        let (code, message) = refused(Some(&certificate(own)), token, workers).await;
        assert_eq!(code, Code::PermissionDenied, "{message}");
        assert!(message.contains(&format!("is for the namespace {:?}", own.name())), "{message}");
    }

    for token in [&token(workers), MACHINE_TOKEN] {
        let mut node = client(&controller, directory, Some(&certificate(workers)), token);
        let registered = register(&mut node, workers).await.unwrap();
        assert!(node.heartbeat(heartbeat(&registered)).await.unwrap().into_inner().ok);
        // The session is of no use without the certificate.
        let mut without = client(&controller, directory, None, token);
        let status = without.heartbeat(heartbeat(&registered)).await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied);
    }
    let mut node = client(&controller, directory, Some(&certificate(workers)), &token(workers));
    let registered = register(&mut node, workers).await.unwrap();
    let mut neighbour = client(&controller, directory, Some(&certificate(own)), &token(workers));
    let status = neighbour.heartbeat(heartbeat(&registered)).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    // And the certificate is of no use without a token.
    let (code, _) = refused(Some(&certificate(workers)), "a-token-that-nobody-has-been-given", workers).await;
    assert_eq!(code, Code::Unauthenticated);

    let mut other = client(&controller, directory, None, OTHER_TOKEN);
    other.list_jobs(wire::ListJobsRequest::default()).await.unwrap();
}

#[tokio::test]
async fn renewals_and_a_new_authority_reach_controller_and_nodes_without_a_restart() {
    let mut fixture = IssuerFixture::with_clients("rotation").await;
    fixture.issuer.refresh().await.unwrap();
    let mounted = tempfile::tempdir().unwrap();
    let directory = mounted.path();
    mount(&fixture, directory).await;
    let controller = requiring(&fixture, directory).start().await.unwrap();
    let (worker_token, certificate) = (token(&fixture.workers), directory.join(fixture.workers.name()));
    let node = || client(&controller, directory, Some(&certificate), &worker_token);

    // This node stays connected all the time.
    let mut connected = node();
    let session = register(&mut connected, &fixture.workers).await.unwrap();
    let mut reader = client(&controller, directory, Some(&certificate), OTHER_TOKEN);
    let watch = wire::StreamJobsRequest { watch: true, ..wire::StreamJobsRequest::default() };
    let mut stream = reader.stream_jobs(streaming(watch)).await.unwrap().into_inner();
    // This one has the first certificate for ever.
    let stale = tempfile::tempdir().unwrap();
    for name in ["tls.crt", "tls.key"] {
        fs::copy(certificate.join(name), stale.path().join(name)).unwrap();
    }

    let first = fixture.issuer.authorities().unwrap().current.certificate.clone();
    let (day, mut before) = (SignedDuration::from_hours(24), String::new());
    for step in ["renewed", "next", "promoted", "previous removed"] {
        match step {
            "renewed" => fixture.clock.advance(day * 20),
            "next" => fixture.clock.set(first.not_after - AUTHORITY_REPLACED_BEFORE),
            "promoted" => fixture.clock.advance(PUBLISHED_FOR),
            _ => fixture.clock.advance(TRUSTED_FOR),
        }
        fixture.issuer.refresh().await.unwrap();
        mount(&fixture, directory).await;
        let now = fs::read_to_string(certificate.join("tls.crt")).unwrap();
        assert_ne!(now, before, "{step}: the same certificate");
        before = now;
        // The controller reads its files at most once a second; the kubelet's ten minutes are more than that.
        wait::until(TIMEOUT, step, async || register(&mut node(), &fixture.workers).await.is_ok())
            .await
            .unwrap();
        assert!(connected.heartbeat(heartbeat(&session)).await.unwrap().into_inner().ok, "{step}");
    }
    // The first authority is gone, and its certificates with it.
    wait::until(TIMEOUT, "the first authority to be refused", async || {
        let mut node = client(&controller, directory, Some(stale.path()), &worker_token);
        let refused = register(&mut node, &fixture.workers).await;
        refused.is_err_and(|status| status.message().contains("it refused the client certificate"))
    })
    .await
    .unwrap();
    let mut other = client(&controller, directory, None, OTHER_TOKEN);
    let scoring = wire::ScoringParams {
        reference: "/clips/r.y4m".to_owned(),
        distorted: "/clips/d.y4m".to_owned(),
        ..wire::ScoringParams::default()
    };
    let request = wire::SubmitJobRequest { scoring: Some(scoring), ..wire::SubmitJobRequest::default() };
    let job = other.submit_job(request).await.unwrap().into_inner().job_id;
    let seen = async { while stream.message().await.unwrap().unwrap().id != job {} };
    tokio::time::timeout(TIMEOUT, seen).await.unwrap();

    let pages = reqwest::Client::builder().no_proxy().build().unwrap();
    let page = pages.get(format!("http://{}/metrics", controller.http())).send().await.unwrap();
    let page = page.text().await.unwrap();
    let end = |purpose: &str| {
        let start = format!("vmafx_tls_certificate_not_after_seconds{{purpose=\"{purpose}\",index=\"0\"}} ");
        page.lines().find_map(|line| line.strip_prefix(&start)).map(|end| end.parse::<i64>().unwrap())
    };
    let second = fixture.issuer.authorities().unwrap().current.certificate.not_after.as_second();
    assert_eq!(end("client-authorities"), Some(second));
    assert!(end("grpc-server").is_some_and(|end| end < second), "{page}");
}
