//! Runs a scenario of `dashboard/tests` in Chromium, by Node. The scenario asks for what it cannot do itself, such as the work
//! of a node, with a line on its standard output, and gets the answer as a line on its standard input.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;
use vmafx_testkit::prerequisite;

use crate::controller::{Controller, READER, STRANGER, WRITER, config};
use crate::issuer::Issuer;
use crate::workers::Workers;

/// Debian's, without the shell around it that other distributions have.
const CHROMIUM: &str = "/usr/bin/chromium";

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dashboard/tests")
}

/// What the machine lacks to run scenarios.
fn missing() -> Option<&'static str> {
    if !Path::new(CHROMIUM).exists() {
        return Some("there is no /usr/bin/chromium, run `make setup`");
    }
    let packages = scenarios().join("../node_modules/playwright-core");
    (!packages.exists()).then_some("the packages of the dashboard are not installed, run `make setup`")
}

/// Runs the scenario on a controller with the settings, which accepts the tokens of its issuer too.
pub(crate) async fn run(scenario: &str, settings: &[(&str, &str)]) {
    if let Some(missing) = missing() {
        return prerequisite::skip(missing);
    }
    let issuer = Issuer::start().await;
    let by_issuer = issuer.settings();
    let by_issuer: Vec<_> = by_issuer.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let roots = [("VMAFX_SCORING_ROOTS", "/clips,https://media.example/,s3://renditions/")];
    let mut controller = Controller::with(config().envs(&roots).envs(&by_issuer).envs(settings)).await;
    run_on(scenario, &mut controller, issuer).await;
}

/// Runs the scenario on a controller without authentication.
pub(crate) async fn run_without_authentication(scenario: &str) {
    if let Some(missing) = missing() {
        return prerequisite::skip(missing);
    }
    let config = vmafx_testkit::controller::ControllerConfig::new(crate::controller::PROGRAM);
    let mut controller = Controller::with(config).await;
    run_on(scenario, &mut controller, Issuer::start().await).await;
}

async fn run_on(scenario: &str, controller: &mut Controller, issuer: Issuer) {
    let mut workers = Workers::new(controller, issuer);
    let tokens = json!({ "reader": READER, "writer": WRITER, "stranger": STRANGER });
    let mut node = Command::new("node")
        .arg(scenarios().join("run.mjs"))
        .arg(scenario)
        .env("VMAFX_URL", format!("http://{}", controller.http()))
        .env("VMAFX_TOKENS", tokens.to_string())
        .env("CHROMIUM", CHROMIUM)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("cannot run node");
    let mut answers = node.stdin.take().unwrap();
    let mut requests = BufReader::new(node.stdout.take().unwrap()).lines();
    while let Some(line) = requests.next_line().await.unwrap() {
        let request: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a request: {line}"));
        let answer = workers.answer(controller, &request).await;
        answers.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
    let status = node.wait().await.unwrap();
    assert!(status.success(), "the scenario {scenario} failed; standard error says why");
}
