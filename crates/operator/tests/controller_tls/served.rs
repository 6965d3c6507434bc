//! A controller that serves with the issued certificate, and its clients, through a renewal and a change of the
//! authority. The test does what the kubelet does: it copies Secret and ConfigMap into files.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use k8s_openapi::jiff::SignedDuration;
use vmafx_kit::channel::{ChannelArgs, streaming};
use vmafx_operator::authority::authorities::PUBLISHED_FOR;
use vmafx_operator::authority::ca::AUTHORITY_REPLACED_BEFORE;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::controller::{ControllerConfig, ControllerServer};
use vmafx_testkit::wait;

use crate::fixture::IssuerFixture;

vmafx_testkit::controller_in_test_program!();

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Parser)]
struct ClientSettings {
    #[command(flatten)]
    channel: ChannelArgs,
}

type Client = VmafxControllerClient<vmafx_kit::channel::GrpcChannel>;

/// A client with a connection of its own.
fn client(controller: &ControllerServer, authorities: &Path) -> Client {
    let ca_file = format!("--controller-ca-file={}", authorities.join("ca.crt").display());
    let settings = ClientSettings::parse_from(["t", "--controller-tls", &ca_file]);
    let address = format!("localhost:{}", controller.grpc().port());
    VmafxControllerClient::new(settings.channel.open(&address.parse().unwrap()).unwrap())
}

/// Copies the Secret into the controller's volume, and the ConfigMap into that of a worker.
async fn mount(fixture: &IssuerFixture, server: &Path, worker: &Path) {
    for (name, text) in fixture.secret().await {
        fs::write(server.join(name), text).unwrap();
    }
    fs::write(worker.join("ca.crt"), fixture.bundle(&fixture.workers).await).unwrap();
}

async fn submit(client: &mut Client, key: &str) -> Result<String, tonic::Status> {
    let request = wire::SubmitJobRequest {
        scoring: Some(wire::ScoringParams {
            reference: "/clips/r.y4m".to_owned(),
            distorted: "/clips/d.y4m".to_owned(),
            ..wire::ScoringParams::default()
        }),
        idempotency_key: key.to_owned(),
        ..wire::SubmitJobRequest::default()
    };
    Ok(client.submit_job(request).await?.into_inner().job_id)
}

/// The settings that the chart gives to the controller, for gRPC.
pub(crate) fn with_tls(mounted: &Path) -> ControllerConfig {
    let file = |name: &str| mounted.join(name).display().to_string();
    controller_config()
        .env("VMAFX_GRPC_TLS", "true")
        .env("VMAFX_GRPC_CERT_FILE", file("tls.crt"))
        .env("VMAFX_GRPC_KEY_FILE", file("tls.key"))
}

/// Moves the clock of the issuer.
type Advance<'a> = &'a dyn Fn(&IssuerFixture);

#[tokio::test]
async fn a_worker_of_an_older_release_is_served_without_tls_only_if_the_controller_accepts_that() {
    let mut fixture = IssuerFixture::new("optional").await;
    let (server, worker) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fixture.issuer.refresh().await.unwrap();
    mount(&fixture, server.path(), worker.path()).await;
    for optional in [true, false] {
        let config = with_tls(server.path()).env("VMAFX_GRPC_TLS_OPTIONAL", optional.to_string());
        let controller = config.start().await.unwrap();
        let settings = ClientSettings::parse_from(["t"]);
        let address = controller.grpc().to_string().parse().unwrap();
        let mut old = VmafxControllerClient::new(settings.channel.open(&address).unwrap());
        assert_eq!(submit(&mut old, "old").await.is_ok(), optional);
        submit(&mut client(&controller, worker.path()), "new").await.unwrap();
    }
}

#[tokio::test]
async fn a_renewal_and_a_new_authority_reach_controller_and_clients_without_a_restart() {
    let mut fixture = IssuerFixture::new("served").await;
    let (server, worker) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fixture.issuer.refresh().await.unwrap();
    mount(&fixture, server.path(), worker.path()).await;
    let controller = with_tls(server.path()).start().await.unwrap();

    // This client stays connected all the time, as a node does.
    let mut connected = client(&controller, worker.path());
    let watch = wire::StreamJobsRequest { watch: true, ..wire::StreamJobsRequest::default() };
    let mut stream = connected.stream_jobs(streaming(watch)).await.unwrap().into_inner();
    // This one trusts the first authority for ever.
    let stale = tempfile::tempdir().unwrap();
    fs::copy(worker.path().join("ca.crt"), stale.path().join("ca.crt")).unwrap();

    let mut expected = Vec::new();
    let first = fixture.issuer.authorities().unwrap().current.certificate.clone();
    let steps: [(&str, Advance<'_>); 3] = [
        ("renewed", &|fixture| fixture.clock.advance(SignedDuration::from_hours(24 * 20))),
        ("next", &|fixture| fixture.clock.set(first.not_after - AUTHORITY_REPLACED_BEFORE)),
        ("promoted", &|fixture| fixture.clock.advance(PUBLISHED_FOR)),
    ];
    for (step, advance) in steps {
        let before = fixture.secret().await["tls.crt"].clone();
        advance(&fixture);
        fixture.issuer.refresh().await.unwrap();
        assert_ne!(fixture.secret().await["tls.crt"], before, "{step}: the same certificate");
        mount(&fixture, server.path(), worker.path()).await;
        // Files are read at most once a second, so the new certificate is served a moment later; the old one is
        // trusted.
        expected.push(submit(&mut client(&controller, worker.path()), step).await.unwrap());
    }
    // Whoever missed the change of the authority is refused once the new certificate is served.
    wait::until(TIMEOUT, "the certificate of the new authority", async || {
        let refused = submit(&mut client(&controller, stale.path()), "stale").await;
        refused.is_err_and(|status| status.message().contains("was not signed by"))
    })
    .await
    .unwrap();
    expected.push(submit(&mut client(&controller, worker.path()), "last").await.unwrap());

    let mut seen = Vec::new();
    while seen.len() < expected.len() {
        let job = tokio::time::timeout(TIMEOUT, stream.message()).await.unwrap().unwrap().unwrap();
        if expected.contains(&job.id) && !seen.contains(&job.id) {
            seen.push(job.id);
        }
    }
    assert_eq!(seen, expected);
}
