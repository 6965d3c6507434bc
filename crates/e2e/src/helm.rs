//! `helm`, as people use it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;
use tokio::process::Command;

use crate::command;

/// The command line for one cluster and one chart.
#[derive(Debug, Clone)]
pub struct Helm {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
    chart: PathBuf,
}

impl Helm {
    /// `home` instead of the user's own, whose settings are not ours.
    pub(crate) fn new(program: &Path, kubeconfig: &Path, home: &Path, chart: &Path) -> Self {
        let [program, kubeconfig, home, chart] = [program, kubeconfig, home, chart].map(Path::to_owned);
        Self { program, kubeconfig, home, chart }
    }

    /// The chart's directory.
    pub fn chart(&self) -> &Path {
        &self.chart
    }

    /// The same with another chart.
    #[must_use]
    pub fn with_chart(&self, chart: &Path) -> Self {
        Self { chart: chart.to_owned(), ..self.clone() }
    }

    /// Installs a release and waits until everything of it is ready; what it prints.
    pub async fn install(&self, release: &str, namespace: &str, values: &Value) -> Result<String> {
        self.put("install", release, namespace, values).await
    }

    /// Upgrades a release and waits until everything of it is ready; what it prints. Values of the last time are
    /// forgotten.
    pub async fn upgrade(&self, release: &str, namespace: &str, values: &Value) -> Result<String> {
        self.put("upgrade", release, namespace, values).await
    }

    /// Removes a release and waits until everything of it is gone.
    pub async fn uninstall(&self, release: &str, namespace: &str) -> Result<String> {
        self.run(&["uninstall", release, "--namespace", namespace, "--wait", "--timeout=4m"], "").await
    }

    async fn put(&self, verb: &str, release: &str, namespace: &str, values: &Value) -> Result<String> {
        let chart = self.chart.to_string_lossy();
        let words =
            [verb, release, &chart, "--namespace", namespace, "--values", "-", "--wait", "--timeout=4m"];
        // JSON is YAML.
        self.run(&words, &values.to_string()).await
    }

    /// Runs it with any words.
    pub async fn run(&self, words: &[&str], input: &str) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.args(words).env("KUBECONFIG", &self.kubeconfig).env("HOME", &self.home);
        command::output(command, input).await
    }
}
