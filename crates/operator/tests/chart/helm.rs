//! Runs Helm on the chart.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use vmafx_testkit::kube::assets::{Binary, ensure};

/// The chart of this checkout.
pub(crate) struct Chart;

impl Chart {
    fn path() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/helm/vmafx").canonicalize().unwrap()
    }

    /// All values files in the chart's `ci` directory.
    pub(crate) fn combinations() -> Vec<PathBuf> {
        let mut all: Vec<_> =
            Self::path().join("ci").read_dir().unwrap().map(|file| file.unwrap().path()).collect();
        all.sort();
        assert!(all.len() > 3, "{all:?}");
        all
    }

    pub(crate) fn values(name: &str) -> PathBuf {
        Self::path().join(format!("ci/{name}-values.yaml"))
    }

    /// The objects that would be installed, including the upgrade hooks.
    pub(crate) fn render(values: &Path, namespace: &str) -> Vec<Value> {
        Self::render_with(values, namespace, &[])
    }

    /// The same with further values, as in `--set KEY=VALUE`.
    pub(crate) fn render_with(values: &Path, namespace: &str, set: &[&str]) -> Vec<Value> {
        let values = values.to_str().unwrap();
        let mut arguments = vec!["--namespace", namespace, "--is-upgrade", "--values", values];
        arguments.extend(set.iter().flat_map(|set| ["--set", set]));
        let output = helm("template", &["vmafx"], &arguments);
        assert!(output.status.success(), "{values}: {}", String::from_utf8_lossy(&output.stderr));
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(&String::from_utf8(output.stdout).unwrap()).unwrap();
        documents.into_iter().filter(|document| !document.is_null()).collect()
    }

    /// Helm's error message for values that it refuses.
    pub(crate) fn refused(arguments: &[&str]) -> String {
        let output = helm("template", &["vmafx"], arguments);
        assert!(!output.status.success(), "{arguments:?} was accepted");
        String::from_utf8(output.stderr).unwrap()
    }

    pub(crate) fn lint(values: &Path) {
        let output = helm("lint", &[], &["--strict", "--values", values.to_str().unwrap()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

fn helm(command: &str, release: &[&str], arguments: &[&str]) -> Output {
    let helm = ensure(&[Binary::Helm]).unwrap();
    // An empty home directory keeps the user's own configuration out.
    let home = tempfile::tempdir().unwrap();
    Command::new(helm.path(Binary::Helm))
        .arg(command)
        .args(release)
        .arg(Chart::path())
        .args(arguments)
        .env("HOME", home.path())
        .env_remove("KUBECONFIG")
        .output()
        .unwrap()
}
