//! The program's settings, exit codes and messages.

use std::path::Path;
use std::process::Command;

use rstest::rstest;
use vmafx_testkit::controller::ControllerConfig;
use vmafx_testkit::postgres::PostgresServer;

use crate::controller::{Controller, PROGRAM, WRITER, config};
use crate::http::Http;

/// Runs the program until it exits: exit code, standard output and standard error.
fn run(arguments: &[&str], settings: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    let output = command.args(arguments).env_clear().envs(settings.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn it_prints_its_version() {
    let (code, stdout, stderr) = run(&["--version"], &[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(stdout, format!("vmafx-controller {}\n", env!("CARGO_PKG_VERSION")));
}

#[rstest]
#[case::flag(2, &["--no-such-flag"], &[], "--no-such-flag")]
#[case::command(2, &["import"], &[], "import")]
#[case::address(2, &[], &[("VMAFX_GRPC_LISTEN", "nine")], "VMAFX_GRPC_LISTEN")]
#[case::duration(2, &[], &[("VMAFX_STORE_LEASE_TTL", "soon")], "VMAFX_STORE_LEASE_TTL")]
#[case::too_short(2, &[], &[("VMAFX_STORE_LEASE_TTL", "1ms")], "VMAFX_STORE_LEASE_TTL")]
#[case::backend(2, &[], &[("VMAFX_STORE_BACKEND", "mysql")], "VMAFX_STORE_BACKEND")]
#[case::no_dsn(2, &[], &[("VMAFX_STORE_BACKEND", "postgres")], "VMAFX_DB_DSN")]
#[case::root(2, &[], &[("VMAFX_SCORING_ROOTS", "clips")], "VMAFX_SCORING_ROOTS")]
#[case::token_file(1, &[], &[("VMAFX_AUTH_DISABLED", "false"), ("VMAFX_AUTH_TOKEN_FILE", "/nowhere")], "VMAFX_AUTH_TOKEN_FILE")]
#[case::host(1, &[], &[("VMAFX_HTTP_ADDR", "256.0.0.1:1")], "VMAFX_HTTP_ADDR")]
#[case::database(1, &[], &[("VMAFX_DB_PATH", "/proc/no/queue.db")], "VMAFX_DB_PATH")]
#[case::home(1, &[], &[("HOME", "relative"), ("VMAFX_DB_PATH", "")], "VMAFX_DB_PATH")]
fn an_unusable_setting_is_named_and_the_controller_does_not_start(
    #[case] expected: i32,
    #[case] arguments: &[&str],
    #[case] settings: &[(&str, &str)],
    #[case] named: &str,
) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("queue.db");
    let usable = [("VMAFX_AUTH_DISABLED", "true"), ("VMAFX_DB_PATH", file.to_str().unwrap())];
    let settings = [&usable, settings].concat();
    let (code, _, stderr) = run(arguments, &settings);
    assert_eq!(code, Some(expected), "{stderr}");
    assert!(stderr.contains(named), "{stderr}");
}

#[test]
fn it_does_not_start_without_a_setting_that_says_who_is_authorized() {
    let (code, _, stderr) = run(&[], &[("VMAFX_DB_PATH", "/nowhere/queue.db")]);
    assert_eq!(code, Some(1), "{stderr}");
    for variable in ["VMAFX_JWKS_ENDPOINT", "VMAFX_AUTH_TOKEN_FILE", "VMAFX_AUTH_DISABLED"] {
        assert!(stderr.contains(variable), "{stderr}");
    }
}

#[tokio::test]
async fn it_warns_that_authentication_is_disabled() {
    let controller = ControllerConfig::new(PROGRAM).start().await.unwrap();
    Http::new(controller.http(), None).get("/v1/jobs").await.expect(200);
    assert!(controller.log().contains("AUTHENTICATION IS DISABLED"), "{}", controller.log());
}

#[tokio::test]
async fn health_and_metrics_need_no_token() {
    let controller = Controller::start(&[]).await;
    let http = Http::new(controller.http(), None);
    http.get("/healthz").await.expect(200);
    let metrics = http.get("/metrics").await.expect(200);
    for name in ["vmafx_controller_nodes_live ", "vmafx_server_health_requests_total 1", "vmafx_build_info"] {
        assert!(metrics.as_str().unwrap().contains(name), "{name} in {metrics}");
    }
}

#[tokio::test]
async fn a_second_controller_on_the_same_file_does_not_start_and_names_the_first() {
    let controller = Controller::start(&[]).await;
    let file = controller.database();
    let before = controller.http_with(WRITER).get("/v1/jobs").await.expect(200);
    let settings = [
        ("VMAFX_AUTH_DISABLED", "true"),
        ("VMAFX_DB_PATH", file.to_str().unwrap()),
        ("VMAFX_HTTP_ADDR", "0"),
        ("VMAFX_GRPC_LISTEN", "0"),
    ];
    for command in [&[][..], &["migrate"]] {
        let (code, _, stderr) = run(command, &settings);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains("VMAFX_DB_PATH") && stderr.contains("in use by process"), "{stderr}");
    }
    assert_eq!(controller.http_with(WRITER).get("/v1/jobs").await.expect(200), before);
}

#[test]
fn migrate_creates_a_file_and_may_be_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("state/queue.db");
    for _ in 0..2 {
        let (code, _, stderr) = run(&["migrate"], &[("VMAFX_DB_PATH", file.to_str().unwrap())]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(Path::new(&file).is_file());
    }
}

#[tokio::test]
async fn migrate_creates_the_tables_of_a_database_and_may_be_repeated() {
    let database = PostgresServer::shared().await.unwrap().database().await.unwrap();
    let settings = [("VMAFX_STORE_BACKEND", "postgres"), ("VMAFX_DB_DSN", database.dsn())];
    for _ in 0..2 {
        let (code, _, stderr) = run(&["migrate"], &settings);
        assert_eq!(code, Some(0), "{stderr}");
    }
    let controller = Controller::with(config().postgres(database.dsn())).await;
    controller.http_with(WRITER).get("/v1/jobs").await.expect(200);
}

#[test]
fn the_error_about_an_unreachable_database_does_not_contain_its_password() {
    let dsn = "postgres://somebody:s3cret@127.0.0.1:1/queue";
    let settings =
        [("VMAFX_STORE_BACKEND", "postgres"), ("VMAFX_DB_DSN", dsn), ("VMAFX_AUTH_DISABLED", "true")];
    let (code, _, stderr) = run(&["migrate"], &settings);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("VMAFX_DB_DSN") && !stderr.contains("s3cret"), "{stderr}");
}
