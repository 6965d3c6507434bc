use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::process::Command;

use crate::command;

/// Runs `kubectl` for one cluster, optionally in one namespace.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: Option<String>,
}

impl Kubectl {
    pub(crate) fn new(program: &Path, kubeconfig: &Path) -> Self {
        Self { program: program.to_owned(), kubeconfig: kubeconfig.to_owned(), namespace: None }
    }

    #[must_use]
    pub fn namespaced(&self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self.clone() }
    }

    pub async fn run(&self, args: &[&str]) -> Result<String> {
        self.with_input(args, "").await
    }

    /// Applies objects, as YAML or JSON.
    pub async fn apply(&self, objects: &str) -> Result<String> {
        self.with_input(&["apply", "-f", "-"], objects).await
    }

    /// `kubectl wait`: `wait("condition=Ready", "vmnode/pool")`.
    pub async fn wait(&self, condition: &str, what: &str) -> Result<()> {
        let condition = format!("--for={condition}");
        self.run(&["wait", &condition, what, "--timeout=180s"]).await.map(drop)
    }

    /// An object, or a list of them: `get(&["vmjob", "first"])`.
    pub async fn get(&self, args: &[&str]) -> Result<Value> {
        let text = self.run(&[&["get", "-o", "json"][..], args].concat()).await?;
        serde_json::from_str(&text)
            .with_context(|| format!("cannot decode the output of kubectl get {args:?}"))
    }

    async fn with_input(&self, args: &[&str], input: &str) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        command.args(self.namespace.iter().flat_map(|name| ["--namespace", name.as_str()])).args(args);
        command::output(command, input).await
    }
}
