//! The dashboard, opened by `kubectl vmafx dashboard` through the port-forward of the kubelet.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use super::fixture::{NAMESPACE, UserFixture, expect_eq};
use crate::platform::STEP_TIMEOUT;

/// A ServiceAccount to which the values of the release give a role.
const ACCOUNT: &str = "reviewer";
const ROLE: &str = "vmafx:reader";

/// `auth.subjects` of the release.
pub(super) fn subjects() -> Value {
    json!({ subject(): [ROLE] })
}

fn subject() -> String {
    format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}")
}

pub(super) async fn opens(fixture: &UserFixture<'_>) -> Result<()> {
    fixture.kubectl.run(&["create", "serviceaccount", ACCOUNT]).await?;
    let mut command = Command::new(fixture.platform.images().program("vmafx"));
    command.args([
        "kube",
        "dashboard",
        "--no-browser",
        "--service-account",
        ACCOUNT,
        "--namespace",
        NAMESPACE,
    ]);
    command.arg("--kubeconfig").arg(fixture.platform.cluster().kubeconfig_path());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    let address = timeout(STEP_TIMEOUT, lines.next_line()).await.context("no address is printed")??;
    let address = address.context("the dashboard ended without an address")?;
    let (page, _) = address.split_once("?session=").with_context(|| format!("no session: {address}"))?;

    let client = Client::builder().no_proxy().timeout(STEP_TIMEOUT).build()?;
    let with = async |path: &str, cookie: &str| -> Result<Response> {
        Ok(client.get(format!("{page}{path}")).header(COOKIE, cookie).send().await?)
    };
    for path in ["", "session", "v1/jobs"] {
        let status = with(path, "").await?.status();
        expect_eq(&format!("/{path} without the cookie"), status, StatusCode::FORBIDDEN)?;
    }
    let signed_in = client.get(&address).send().await?.error_for_status()?;
    let set = signed_in.headers().get(SET_COOKIE).context("no cookie is set")?.to_str()?.to_owned();
    let cookie = set.split(';').next().unwrap_or_default();
    let read = async |path: &str| {
        with(path, cookie).await?.error_for_status()?.text().await.map_err(anyhow::Error::from)
    };
    let html = read("").await?;
    ensure!(html.contains("<script"), "this is not the dashboard: {html}");
    let session: Value = serde_json::from_str(&read("session").await?)?;
    expect_eq("the caller", &session["caller"]["subject"], &json!(subject()))?;
    expect_eq("its roles", &session["caller"]["roles"], &json!([ROLE]))?;
    let jobs: Value = serde_json::from_str(&read("v1/jobs").await?)?;
    ensure!(jobs["jobs"].as_array().is_some_and(|jobs| !jobs.is_empty()), "there are no jobs: {jobs}");
    Ok(())
}
