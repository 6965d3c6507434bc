//! The operator as a child process.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use vmafx_testkit::kube::account::TestServiceAccount;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::kube::proxy::ApiProxy;
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::control_plane::SYSTEM;

#[derive(Clone)]
pub(crate) struct OperatorCommand {
    pub(crate) name: String,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) env: Vec<(&'static str, String)>,
}

impl OperatorCommand {
    /// An operator with the permissions of `account` behind `proxy`; its files are in `directory`.
    pub(crate) fn new(
        directory: &Path,
        account: &TestServiceAccount,
        proxy: &ApiProxy,
        env: Vec<(&'static str, String)>,
    ) -> Self {
        let kubeconfig = directory.join("kubeconfig");
        account.write_kubeconfig(&kubeconfig, &proxy.url()).unwrap();
        Self { name: "operator".to_owned(), kubeconfig, directory: directory.to_owned(), env }
    }
}

/// A running operator. Dropping it kills it; in a failing test it also prints the end of its log.
pub(crate) struct Operator {
    process: ChildProcess,
    pub(crate) log: PathBuf,
    http: reqwest::Client,
}

impl Operator {
    pub(crate) fn start(command: &OperatorCommand) -> Self {
        let log = tempfile::Builder::new()
            .prefix(&format!("{}-", command.name))
            .suffix(".log")
            .tempfile_in(&command.directory)
            .unwrap()
            .into_temp_path()
            .keep()
            .unwrap();
        let launch = ChildCommand::new(&command.name, env!("CARGO_BIN_EXE_vmafx-operator"), &log)
            .env("KUBECONFIG", &command.kubeconfig)
            .env("POD_NAMESPACE", SYSTEM)
            .env("POD_NAME", &command.name)
            .env("VMAFX_OPERATOR_METRICS_ADDR", "127.0.0.1:0")
            .env("VMAFX_OPERATOR_HEALTH_PROBE_ADDR", "127.0.0.1:0")
            .env("VMAFX_OPERATOR_NODE_IMAGE", "registry.test/vmafx-node:1")
            .env("VMAFX_LOG_LEVEL", "info,vmafx_operator=debug")
            .env("VMAFX_LOG_FORMAT", "json");
        let launch = command.env.iter().fold(launch, |launch, (name, value)| launch.env(name, value));
        vmafx_kit::tls::install_crypto_provider();
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build().unwrap();
        Self { process: ChildProcess::start(&launch).unwrap(), log, http }
    }

    /// A function that kills the operator without a borrow of it.
    pub(crate) fn killer(&self) -> impl Fn() + Send + Sync + use<> {
        let pid = Pid::from_raw(i32::try_from(self.process.pid()).unwrap()).unwrap();
        move || {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        self.process.signal(signal).unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.process.ended().is_some()
    }

    /// Waits until the process has ended.
    pub(crate) async fn ended(&mut self) {
        wait::until(TIMEOUT, "the operator to end", || {
            let ended = self.process.ended().is_some();
            async move { ended }
        })
        .await
        .unwrap();
    }

    /// The address that the operator logged for the setting `variable`.
    fn address(&self, variable: &str) -> Result<String, String> {
        let log = fs::read_to_string(&self.log).map_err(|error| error.to_string())?;
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let find = |line: &Value, field: &str| {
            [&line[field], &line["fields"][field]].into_iter().find_map(Value::as_str).map(str::to_owned)
        };
        lines
            .filter(|line| find(line, "variable").as_deref() == Some(variable))
            .find_map(|line| find(&line, "addr"))
            .ok_or_else(|| format!("not listening yet: {}", tail(&self.log)))
    }

    async fn page(&self, variable: &str, path: &str) -> Result<(u16, String), String> {
        let url = format!("http://{}{path}", self.address(variable)?);
        let answer = self.http.get(url).send().await.map_err(|error| error.to_string())?;
        let code = answer.status().as_u16();
        Ok((code, answer.text().await.map_err(|error| error.to_string())?))
    }

    /// Status code and body of `/readyz`.
    pub(crate) async fn readiness(&self) -> Result<(u16, String), String> {
        self.page("VMAFX_OPERATOR_HEALTH_PROBE_ADDR", "/readyz").await
    }

    pub(crate) async fn ready(&mut self) {
        let Self { process, .. } = self;
        let ended = process.ended().map(|error| error.to_string());
        assert_eq!(ended, None);
        wait::until(TIMEOUT, "the operator to be ready", || async {
            match self.readiness().await? {
                (200, _) => Ok(()),
                (_, body) => Err(body),
            }
        })
        .await
        .unwrap_or_else(|error| panic!("{error}\n{}", tail(&self.log)));
    }

    /// The sum of a metric over all series whose labels contain `labels`.
    pub(crate) async fn metric(&self, name: &str, labels: &str) -> Result<f64, String> {
        let (_, text) = self.page("VMAFX_OPERATOR_METRICS_ADDR", "/metrics").await?;
        let series = text.lines().filter_map(|line| line.rsplit_once(' '));
        let matches = |series: &str| {
            let (metric, with) = series.split_once('{').unwrap_or((series, ""));
            metric.ends_with(name) && with.contains(labels)
        };
        Ok(series
            .filter(|(series, _)| matches(series))
            .filter_map(|(_, value)| value.parse::<f64>().ok())
            .sum())
    }

    /// Waits until a metric is at least `least`.
    pub(crate) async fn until_metric(&self, name: &str, labels: &str, least: f64) {
        wait::until(TIMEOUT, &format!("{name} to be {least}"), || async {
            let now = self.metric(name, labels).await?;
            if now >= least { Ok(()) } else { Err(now.to_string()) }
        })
        .await
        .unwrap();
    }

    pub(crate) async fn reconciles(&self) -> f64 {
        wait::until(TIMEOUT, "metrics", || self.metric("operator_reconcile_seconds_count", "")).await.unwrap()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("end of the operator's log, {}:\n{}", self.log.display(), tail(&self.log));
        }
    }
}

fn tail(log: &Path) -> String {
    const LINES: usize = 30;
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
