use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;
use tokio::process::Command;

use crate::command;

/// Runs `helm` for one cluster and one chart.
#[derive(Debug, Clone)]
pub struct Helm {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
    chart: PathBuf,
}

impl Helm {
    /// `home` replaces the user's home, whose Helm settings must not have an effect.
    pub(crate) fn new(program: &Path, kubeconfig: &Path, home: &Path, chart: &Path) -> Self {
        let [program, kubeconfig, home, chart] = [program, kubeconfig, home, chart].map(Path::to_owned);
        Self { program, kubeconfig, home, chart }
    }

    pub fn chart(&self) -> &Path {
        &self.chart
    }

    #[must_use]
    pub fn with_chart(&self, chart: &Path) -> Self {
        Self { chart: chart.to_owned(), ..self.clone() }
    }

    /// Installs a release and waits until it is ready. Returns the output.
    pub async fn install(&self, release: &str, namespace: &str, values: &Value) -> Result<String> {
        self.apply("install", release, namespace, values).await
    }

    /// Upgrades a release and waits until it is ready. Earlier values are not reused. Returns the output.
    pub async fn upgrade(&self, release: &str, namespace: &str, values: &Value) -> Result<String> {
        self.apply("upgrade", release, namespace, values).await
    }

    /// Removes a release and waits until its objects are gone.
    pub async fn uninstall(&self, release: &str, namespace: &str) -> Result<String> {
        self.run(&["uninstall", release, "--namespace", namespace, "--wait", "--timeout=4m"], "").await
    }

    async fn apply(&self, verb: &str, release: &str, namespace: &str, values: &Value) -> Result<String> {
        let chart = self.chart.to_string_lossy();
        let args =
            [verb, release, &chart, "--namespace", namespace, "--values", "-", "--wait", "--timeout=4m"];
        // JSON is valid YAML.
        self.run(&args, &values.to_string()).await
    }

    pub async fn run(&self, args: &[&str], input: &str) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.args(args).env("KUBECONFIG", &self.kubeconfig).env("HOME", &self.home);
        command::output(command, input).await
    }
}
