//! The program at its edges: settings, exit codes, what it says.

use std::path::Path;
use std::process::Command;

use rstest::rstest;
use vmafx_testkit::postgres::PostgresServer;

use crate::controller::{Controller, WRITER, program};

/// Runs it to its end.
fn run(arguments: &[&str], settings: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(program());
    let output = command.args(arguments).env_clear().envs(settings.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn it_says_its_version() {
    let (code, stdout, stderr) = run(&["--version"], &[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(stdout, format!("vmafx-controller {}\n", env!("CARGO_PKG_VERSION")));
}

#[rstest]
#[case(&[("VMAFX_GRPC_LISTEN", "nine")], "VMAFX_GRPC_LISTEN")]
#[case(&[("VMAFX_STORE_LEASE_TTL", "soon")], "VMAFX_STORE_LEASE_TTL")]
#[case(&[("VMAFX_STORE_BACKEND", "postgres"), ("VMAFX_AUTH_DISABLED", "true")], "VMAFX_DB_DSN")]
#[case(&[("VMAFX_SCORING_ROOTS", "clips"), ("VMAFX_AUTH_DISABLED", "true")], "VMAFX_SCORING_ROOTS")]
#[case(&[("VMAFX_AUTH_TOKEN_FILE", "/nowhere"), ("VMAFX_DB_PATH", "/nowhere/q")], "VMAFX_AUTH_TOKEN_FILE")]
#[case(&[("VMAFX_AUTH_DISABLED", "true"), ("VMAFX_DB_PATH", "/proc/queue.db")], "VMAFX_DB_PATH")]
#[case(&[("VMAFX_AUTH_DISABLED", "true"), ("HOME", "relative")], "VMAFX_DB_PATH")]
fn what_it_cannot_work_with_is_named_and_it_does_not_start(
    #[case] settings: &[(&str, &str)],
    #[case] variable: &str,
) {
    let (code, _, stderr) = run(&[], settings);
    assert!(matches!(code, Some(1 | 2)), "{code:?}: {stderr}");
    assert!(stderr.contains(variable), "{stderr}");
}

#[test]
fn nobody_is_let_in_by_default_so_it_does_not_start_without_a_word_on_who_may_call() {
    let (code, _, stderr) = run(&[], &[("VMAFX_DB_PATH", "/nowhere/queue.db")]);
    assert_eq!(code, Some(1), "{stderr}");
    for variable in ["VMAFX_JWKS_ENDPOINT", "VMAFX_AUTH_TOKEN_FILE", "VMAFX_AUTH_DISABLED"] {
        assert!(stderr.contains(variable), "{stderr}");
    }
}

#[tokio::test]
async fn without_authentication_it_is_loud() {
    let controller =
        Controller::start(&[("VMAFX_AUTH_DISABLED", "true"), ("VMAFX_AUTH_TOKEN_FILE", "")]).await;
    let http = crate::http::Http::new(controller.http, None);
    http.get("/v1/jobs").await.expect(200);
    assert!(controller.log().contains("AUTHENTICATION IS DISABLED"), "{}", controller.log());
}

#[tokio::test]
async fn a_second_one_on_the_same_file_does_not_start_and_says_why() {
    let controller = Controller::start(&[]).await;
    let file = controller.directory().join("queue.db");
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
        assert!(stderr.contains("VMAFX_DB_PATH") && stderr.contains("another"), "{stderr}");
    }
    assert_eq!(controller.http_with(WRITER).get("/v1/jobs").await.expect(200), before);
}

#[test]
fn migrate_makes_a_file_and_ends_and_may_be_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("state/queue.db");
    for _ in 0..2 {
        let (code, _, stderr) = run(&["migrate"], &[("VMAFX_DB_PATH", file.to_str().unwrap())]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(Path::new(&file).is_file());
    }
}

#[tokio::test]
async fn migrate_makes_the_tables_of_a_database_and_ends_and_may_be_repeated() {
    let database = PostgresServer::shared().await.unwrap().database().await.unwrap();
    let settings = [("VMAFX_STORE_BACKEND", "postgres"), ("VMAFX_DB_DSN", database.dsn())];
    for _ in 0..2 {
        let (code, _, stderr) = run(&["migrate"], &settings);
        assert_eq!(code, Some(0), "{stderr}");
    }
    let controller = Controller::start(&settings).await;
    controller.http_with(WRITER).get("/v1/jobs").await.expect(200);
}

#[test]
fn a_database_that_does_not_answer_is_told_without_its_password() {
    let dsn = "postgres://somebody:s3cret@127.0.0.1:1/queue";
    let settings =
        [("VMAFX_STORE_BACKEND", "postgres"), ("VMAFX_DB_DSN", dsn), ("VMAFX_AUTH_DISABLED", "true")];
    let (code, _, stderr) = run(&["migrate"], &settings);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("VMAFX_DB_DSN") && !stderr.contains("s3cret"), "{stderr}");
}
