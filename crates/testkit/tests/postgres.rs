//! The Postgres server: it uses its default settings, isolates tests, and leaves nothing behind.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_postgres::NoTls;
use vmafx_testkit::postgres::{PostgresServer, ShutdownMode};
use vmafx_testkit::wait;

const SOON: Duration = Duration::from_secs(30);

async fn ask(dsn: &str, statement: &str) -> Result<String, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(dsn, NoTls).await?;
    tokio::select! {
        rows = client.query(statement, &[]) => Ok(rows?.first().map(|row| row.get(0)).unwrap_or_default()),
        ended = connection => Err(ended.unwrap_err()),
    }
}

#[tokio::test]
async fn what_is_written_is_synced() {
    let database = PostgresServer::shared().await.unwrap().database().await.unwrap();
    assert_eq!(ask(database.dsn(), "SHOW fsync").await.unwrap(), "on");
    assert_eq!(ask(database.dsn(), "SHOW synchronous_commit").await.unwrap(), "on");
}

#[tokio::test]
async fn each_test_has_a_database_and_a_plain_role_to_itself() {
    let server = PostgresServer::shared().await.unwrap();
    let (one, other) = (server.database().await.unwrap(), server.database().await.unwrap());
    let role = "SELECT rolname || rolsuper || rolbypassrls FROM pg_roles WHERE rolname = current_user";
    assert_eq!(ask(one.dsn(), role).await.unwrap(), format!("{}falsefalse", one.name()));
    ask(one.dsn(), "CREATE TABLE mine (id int)").await.unwrap();
    assert!(ask(other.dsn(), "SELECT 'x' FROM mine").await.is_err());
    assert_eq!(ask(one.superuser_dsn(), "SHOW is_superuser").await.unwrap(), "on");
}

#[tokio::test]
async fn a_restart_keeps_what_was_committed_and_the_address() {
    let server = PostgresServer::start().await.unwrap();
    let database = server.database().await.unwrap();
    ask(database.dsn(), "CREATE TABLE kept (word text)").await.unwrap();
    for (mode, word) in [(ShutdownMode::Fast, "fast"), (ShutdownMode::Immediate, "immediate")] {
        ask(database.dsn(), &format!("INSERT INTO kept VALUES ('{word}')")).await.unwrap();
        let before = server.pid().await;
        server.restart(mode).await.unwrap();
        assert_ne!(server.pid().await, before);
    }
    let words = ask(database.dsn(), "SELECT string_agg(word, ' ') FROM kept").await.unwrap();
    assert_eq!(words, "fast immediate");
}

fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_killed_owner_leaves_no_process_and_no_directory() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_testkit-helper"))
        .arg("postgres")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let report: Value = serde_json::from_str(&line).unwrap();
    let directory = PathBuf::from(report["directory"].as_str().unwrap());
    let process = report["pids"][0].to_string();
    assert!(directory.join("data/postmaster.pid").exists());
    assert!(runs(&process));
    let segment = segment(&directory);

    // SIGKILL: no destructor and no signal handler runs.
    owner.kill().unwrap();
    owner.wait().unwrap();

    let gone = async || !runs(&process) && !directory.exists() && !memory_has(&segment);
    wait::until(SOON, "everything to be gone", gone).await.unwrap();
}

#[tokio::test]
async fn a_dropped_server_is_gone_when_drop_returns() {
    let started = Instant::now();
    let server = PostgresServer::start().await.unwrap();
    eprintln!("server ready in {:.1} s", started.elapsed().as_secs_f64());
    let process = PathBuf::from(format!("/proc/{}", server.pid().await));
    let directory = server.directory().to_owned();
    let segment = segment(&directory);
    assert!(memory_has(&segment));
    drop(server);
    assert!(!process.exists());
    assert!(!directory.exists());
    assert!(!memory_has(&segment), "shared memory stays behind");
}

/// The number of the server's shared memory: the last word of the seventh line of its own note.
fn segment(directory: &Path) -> String {
    let note = std::fs::read_to_string(directory.join("data/postmaster.pid")).unwrap();
    note.lines().nth(6).unwrap().split_whitespace().last().unwrap().to_owned()
}

fn memory_has(segment: &str) -> bool {
    let table = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
    table.lines().any(|line| line.split_whitespace().nth(1) == Some(segment))
}
