//! The channel against a real gRPC server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

#[allow(dead_code, reason = "the tests of lifetimes use the rest")]
mod grpc;

use std::fs;
use std::time::Duration;

use grpc::{Pki, Server, call, open_stream, unused_addr};
use rstest::rstest;
use tokio::time::Instant;
use tonic::Code;
use vmafx_kit::channel::{
    ChannelArgs, GrpcChannel, SharedAuthorities, TrustedAuthorities, repeatable, streaming,
};
use vmafx_kit::config::{Environment, HostPort, HostPorts, SettingsError, parse};

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
    args(variables).open(&addr.clone().into()).unwrap()
}

/// A channel to several servers.
fn open_all(servers: &[&HostPort]) -> GrpcChannel {
    let list: Vec<String> = servers.iter().map(ToString::to_string).collect();
    args(&[]).open(&list.join(",").parse().unwrap()).unwrap()
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

#[tokio::test]
async fn authorities_that_the_process_manages_are_used_once_they_are_there_and_when_they_are_replaced() {
    let (pki, other) = (Pki::new("ours", "localhost"), Pki::new("theirs", "localhost"));
    let server = Server::tls(&pki).await;
    let variables = [("VMAFX_CONTROLLER_TLS", "true"), ("VMAFX_CONTROLLER_SERVER_NAME", "localhost")];
    let authorities = SharedAuthorities::default();
    let trusted = TrustedAuthorities::Shared(authorities.clone());
    let channel = args(&variables).open_trusting(&server.addr.clone().into(), trusted).unwrap();
    for (pem, refusal) in [
        (None, Some("the certificate authority of the controller is not issued yet")),
        (Some(&other), Some("its certificate was not signed by this program's own certificate authority")),
        (Some(&pki), None),
    ] {
        if let Some(pki) = pem {
            authorities.replace(&fs::read_to_string(&pki.ca_file).unwrap());
        }
        let answer = call(&channel, "Echo", ()).await;
        match refusal {
            Some(refusal) => assert!(answer.unwrap_err().message().contains(refusal)),
            None => assert_eq!(answer.unwrap(), "- 10000m"),
        }
    }
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

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_reported_as_such_however_often_it_is_called() {
    let channel = open(&unused_addr().await, &[]);
    for _ in 0..20 {
        let status = call(&channel, "Echo", ()).await.unwrap_err();
        assert!(status.code() == Code::Unavailable && status.message().contains("refused"), "{status}");
    }
}

#[tokio::test]
async fn an_address_that_does_not_answer_is_passed_over() {
    let (nobody, server) = (unused_addr().await, Server::plain().await);
    for _ in 0..10 {
        call(&open_all(&[&nobody, &server.addr]), "Echo", ()).await.unwrap();
    }
}

#[tokio::test]
async fn a_call_that_a_server_refuses_because_it_is_not_ready_is_answered_by_another_server() {
    let (not_ready, good) = (Server::not_ready().await, Server::plain().await);
    // The first address is chosen at random.
    for _ in 0..20 {
        let channel = open_all(&[&not_ready.addr, &good.addr]);
        call(&channel, "Echo", ()).await.unwrap();
        let before = not_ready.calls();
        call(&channel, "Echo", ()).await.unwrap();
        assert_eq!(not_ready.calls(), before, "the channel stays with the server that answers");
    }
    assert!(not_ready.calls() > 0);
}

#[tokio::test]
async fn the_only_server_is_asked_again_and_its_refusal_is_returned() {
    let server = Server::not_ready().await;
    let status = call(&open(&server.addr, &[]), "Echo", ()).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "no store"));
    assert!(server.calls() > 1);
}

#[tokio::test]
async fn a_call_that_may_have_had_an_effect_is_repeated_only_if_it_is_repeatable() {
    let (bad, good) = (Server::unavailable().await, Server::plain().await);
    let mut failed = 0;
    for _ in 0..20 {
        let channel = open_all(&[&bad.addr, &good.addr]);
        call(&channel, "Echo", repeatable(())).await.unwrap();
        let channel = open_all(&[&bad.addr, &good.addr]);
        let before = bad.calls();
        if let Err(status) = call(&channel, "Echo", ()).await {
            assert_eq!((status.code(), bad.calls()), (Code::Unavailable, before + 1));
            failed += 1;
        }
        // The channel has left the server, so the next call is answered.
        call(&channel, "Echo", ()).await.unwrap();
    }
    assert!(failed > 0);
}

#[tokio::test(start_paused = true)]
async fn a_repeatable_call_leaves_a_silent_server_within_its_deadline() {
    let (silent, good) = (Server::silent().await, Server::plain().await);
    for _ in 0..10 {
        let channel = open_all(&[&silent.addr, &good.addr]);
        call(&channel, "Echo", repeatable(())).await.unwrap();
    }
}

#[tokio::test]
async fn a_stream_that_ends_because_the_server_stops_serving_moves_the_next_call() {
    let (ending, good) = (Server::ending_streams().await, Server::plain().await);
    let mut ended = 0;
    for _ in 0..20 {
        let channel = open_all(&[&ending.addr, &good.addr]);
        let mut stream = open_stream(&channel, "Late", streaming(())).await.unwrap();
        let answered_by_ending = ending.calls();
        if ending.take_new_calls() > 0 {
            let status = stream.message().await.unwrap_err();
            assert_eq!(status.code(), Code::Unavailable);
            ended += 1;
            call(&channel, "Echo", ()).await.unwrap();
            assert_eq!(ending.calls(), answered_by_ending);
        }
    }
    assert!(ended > 0);
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
#[case::certificate_without_tls(
    &[("VMAFX_CONTROLLER_CERT_FILE", "tls.crt"), ("VMAFX_CONTROLLER_KEY_FILE", "tls.key")],
    "VMAFX_CONTROLLER_CERT_FILE is set, but VMAFX_CONTROLLER_TLS=true is not: either set \
     VMAFX_CONTROLLER_TLS=true or remove VMAFX_CONTROLLER_CERT_FILE"
)]
#[case::certificate_without_key(
    &[("VMAFX_CONTROLLER_TLS", "true"), ("VMAFX_CONTROLLER_CERT_FILE", "tls.crt")],
    "not set: VMAFX_CONTROLLER_KEY_FILE (needed by VMAFX_CONTROLLER_TLS=true)"
)]
#[case::no_time(
    &[("VMAFX_CONTROLLER_RPC_TIMEOUT", "0")],
    "VMAFX_CONTROLLER_RPC_TIMEOUT cannot be \"0s\": every call would fail; use a timeout such as 10s"
)]
fn settings_that_do_not_go_together_are_refused(#[case] variables: &[(&str, &str)], #[case] expected: &str) {
    let error = args(variables).open(&"localhost:1".parse::<HostPorts>().unwrap()).unwrap_err();
    let invalid = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<SettingsError>());
    assert_eq!(invalid.unwrap().to_string(), expected);
}

#[tokio::test]
async fn a_file_without_certificates_is_refused_at_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    let variables = [("VMAFX_CONTROLLER_TLS", "true"), ("VMAFX_CONTROLLER_CA_FILE", file.to_str().unwrap())];
    let refused =
        || args(&variables).open(&"localhost:1".parse::<HostPorts>().unwrap()).unwrap_err().to_string();
    assert_eq!(refused(), format!("cannot read {} (VMAFX_CONTROLLER_CA_FILE)", file.display()));
    fs::write(&file, "not a certificate").unwrap();
    assert_eq!(
        refused(),
        format!("{} contains no PEM certificate (VMAFX_CONTROLLER_CA_FILE)", file.display())
    );
}
