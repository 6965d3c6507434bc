//! The channel against a real gRPC server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

mod grpc;

use std::fs;
use std::time::Duration;

use grpc::{Pki, Server, call, open_stream, unused_addr};
use rstest::rstest;
use tokio::time::Instant;
use tonic::Code;
use vmafx_kit::channel::{ChannelArgs, GrpcChannel, streaming};
use vmafx_kit::config::{Environment, HostPort, SettingsError, parse};

#[derive(Debug, clap::Parser)]
struct Args {
    #[command(flatten)]
    channel: ChannelArgs,
}

fn args(variables: &[(&str, &str)]) -> ChannelArgs {
    let env: Environment = variables.iter().copied().collect();
    match parse::<Args>(["t"], &env, &[]) {
        Ok(args) => args.channel,
        Err(exit) => panic!("{exit:?}"),
    }
}

fn open(addr: &HostPort, variables: &[(&str, &str)]) -> GrpcChannel {
    args(variables).open(addr).unwrap()
}

/// `{"exp":1700000000}`, which is in the past.
const EXPIRED: &str = "e30.eyJleHAiOjE3MDAwMDAwMDB9.c2ln";

#[tokio::test]
async fn sends_the_inline_token_and_the_default_deadline() {
    let server = Server::plain().await;
    let channel = open(&server.addr, &[("VMAFX_CONTROLLER_TOKEN", "s3cr3t")]);
    assert_eq!(call(&channel, "Echo", ()).await.unwrap(), "Bearer s3cr3t 10000m");
}

#[tokio::test]
async fn sends_no_token_when_there_is_none() {
    let server = Server::plain().await;
    assert_eq!(call(&open(&server.addr, &[]), "Echo", ()).await.unwrap(), "- 10000m");
}

#[tokio::test]
async fn a_token_replaced_on_disk_is_used_by_the_next_call() {
    let server = Server::plain().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    fs::write(&file, "first\n").unwrap();
    let channel = open(&server.addr, &[("VMAFX_CONTROLLER_TOKEN_FILE", file.to_str().unwrap())]);
    assert_eq!(call(&channel, "Echo", ()).await.unwrap(), "Bearer first 10000m");

    // The kubelet replaces the file by a rename, too.
    let next = directory.path().join("next");
    fs::write(&next, "other\n").unwrap();
    fs::rename(&next, &file).unwrap();
    assert_eq!(call(&channel, "Echo", ()).await.unwrap(), "Bearer other 10000m");

    fs::write(&file, EXPIRED).unwrap();
    let status = call(&channel, "Echo", ()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    let text = format!("the token in {} expired at 2023-11-14T22:13:20Z", file.display());
    assert_eq!(status.message(), text);

    fs::remove_file(&file).unwrap();
    let status = call(&channel, "Echo", ()).await.unwrap_err();
    assert!(
        status.message().starts_with(&format!("cannot read the token in {}: ", file.display())),
        "{status}"
    );
    assert_eq!(server.calls(), 2, "a call without a good token must not reach the server");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up_at_the_deadline() {
    let server = Server::plain().await;
    let channel = open(&server.addr, &[]);
    let begun = Instant::now();
    let status = call(&channel, "Silent", ()).await.unwrap_err();
    assert_eq!(begun.elapsed().as_secs(), 10);
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(status.message(), format!("{} did not answer within 10s", server.addr));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stops_half_way_is_given_up_at_the_deadline() {
    let server = Server::plain().await;
    let channel = open(&server.addr, &[("VMAFX_CONTROLLER_RPC_TIMEOUT", "3s")]);
    let begun = Instant::now();
    let status = call(&channel, "Stall", ()).await.unwrap_err();
    assert_eq!(begun.elapsed().as_secs(), 3);
    assert_eq!(status.message(), format!("{} did not answer within 3s", server.addr));
}

#[rstest]
#[case::shorter(2)]
#[case::longer(40)]
#[tokio::test(start_paused = true)]
async fn a_request_may_bring_its_own_deadline(#[case] seconds: u64) {
    let server = Server::plain().await;
    let channel = open(&server.addr, &[]);
    let mut request = tonic::Request::new(());
    request.set_timeout(Duration::from_secs(seconds));
    let begun = Instant::now();
    let status = call(&channel, "Silent", request).await.unwrap_err();
    assert_eq!(begun.elapsed().as_secs(), seconds);
    assert_eq!(status.message(), format!("{} did not answer within {seconds}s", server.addr));
}

#[tokio::test(start_paused = true)]
async fn a_stream_outlives_the_deadline_once_its_headers_are_here() {
    let server = Server::plain().await;
    let channel = open(&server.addr, &[]);
    let mut stream = open_stream(&channel, "Late", streaming(())).await.unwrap();
    let begun = Instant::now();
    assert_eq!(stream.message().await.unwrap().as_deref(), Some("at last"));
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_headers_never_come_is_given_up() {
    let server = Server::plain().await;
    let status = open_stream(&open(&server.addr, &[]), "Silent", streaming(())).await.unwrap_err();
    assert_eq!(status.message(), format!("{} did not answer within 10s", server.addr));
}

#[tokio::test]
async fn a_channel_opened_before_its_server_works_once_that_is_up() {
    let addr = unused_addr().await;
    let channel = open(&addr, &[]);
    let status = call(&channel, "Echo", ()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    let text = status.message();
    assert!(text.starts_with(&format!("cannot reach {addr}: ")) && text.contains("refused"), "{text}");

    let _server = Server::plain_at(&addr).await;
    call(&channel, "Echo", ()).await.unwrap();
}

#[tokio::test]
async fn tls_trusts_the_given_authority() {
    let pki = Pki::new("ours", "localhost");
    let server = Server::tls(&pki).await;
    let ca = pki.ca_file.to_str().unwrap();
    let channel = open(
        &server.addr,
        &[
            ("VMAFX_CONTROLLER_TLS", "true"),
            ("VMAFX_CONTROLLER_CA_FILE", ca),
            ("VMAFX_CONTROLLER_SERVER_NAME", "localhost"),
            ("VMAFX_CONTROLLER_TOKEN", "s3cr3t"),
        ],
    );
    assert_eq!(call(&channel, "Echo", ()).await.unwrap(), "Bearer s3cr3t 10000m");
}

#[rstest]
#[case::by_another_name("theirs")]
#[case::by_the_same_name("ours")]
#[tokio::test]
async fn a_certificate_of_another_authority_is_refused_and_the_file_is_named(#[case] theirs: &str) {
    let (pki, other) = (Pki::new(theirs, "localhost"), Pki::new("ours", "localhost"));
    let server = Server::tls(&pki).await;
    let ca = other.ca_file.to_str().unwrap();
    let channel = open(
        &server.addr,
        &[
            ("VMAFX_CONTROLLER_TLS", "true"),
            ("VMAFX_CONTROLLER_CA_FILE", ca),
            ("VMAFX_CONTROLLER_SERVER_NAME", "localhost"),
        ],
    );
    let status = call(&channel, "Echo", ()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(
        status.message(),
        format!(
            "cannot reach {}: its certificate was not signed by {ca} (VMAFX_CONTROLLER_CA_FILE)",
            server.addr
        )
    );
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let pki = Pki::new("ours", "somebody.else");
    let server = Server::tls(&pki).await;
    let ca = pki.ca_file.to_str().unwrap();
    let variables = [("VMAFX_CONTROLLER_TLS", "true"), ("VMAFX_CONTROLLER_CA_FILE", ca)];
    let status = call(&open(&server.addr, &variables), "Echo", ()).await.unwrap_err();
    assert!(status.message().contains("certificate not valid for name"), "{status}");
    assert_eq!(server.calls(), 0);
}

#[rstest]
#[case::two_tokens(
    &[("VMAFX_CONTROLLER_TOKEN", "a"), ("VMAFX_CONTROLLER_TOKEN_FILE", "b")],
    "VMAFX_CONTROLLER_TOKEN_FILE and VMAFX_CONTROLLER_TOKEN are both set: give only one of them"
)]
#[case::authority_without_tls(
    &[("VMAFX_CONTROLLER_CA_FILE", "ca.pem")],
    "VMAFX_CONTROLLER_CA_FILE is set, but VMAFX_CONTROLLER_TLS=true is not: either set \
     VMAFX_CONTROLLER_TLS=true or remove VMAFX_CONTROLLER_CA_FILE"
)]
#[case::no_time(
    &[("VMAFX_CONTROLLER_RPC_TIMEOUT", "0")],
    "VMAFX_CONTROLLER_RPC_TIMEOUT cannot be \"0s\": every call would fail; use a timeout such as 10s"
)]
fn settings_that_do_not_go_together_are_refused(#[case] variables: &[(&str, &str)], #[case] expected: &str) {
    let error = args(variables).open(&"localhost:1".parse().unwrap()).unwrap_err();
    let invalid = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<SettingsError>());
    assert_eq!(invalid.unwrap().to_string(), expected);
}

#[tokio::test]
async fn a_file_without_certificates_is_refused_at_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    let variables = [("VMAFX_CONTROLLER_TLS", "true"), ("VMAFX_CONTROLLER_CA_FILE", file.to_str().unwrap())];
    let refused = || args(&variables).open(&"localhost:1".parse().unwrap()).unwrap_err().to_string();
    assert_eq!(refused(), format!("cannot read {} (VMAFX_CONTROLLER_CA_FILE)", file.display()));
    fs::write(&file, "not a certificate").unwrap();
    assert_eq!(
        refused(),
        format!("{} contains no PEM certificate (VMAFX_CONTROLLER_CA_FILE)", file.display())
    );
}
