//! The resources in the real `kubectl`: the published examples, the columns, `explain` and `scale`.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use vmafx_testkit::kube::TestNamespace;
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::wait;

use crate::cluster::namespace;

/// Runs `kubectl` in the namespace of the test.
struct Kubectl {
    program: PathBuf,
    ns: TestNamespace,
}

impl Kubectl {
    async fn new() -> Self {
        let program = ensure(&[Binary::Kubectl]).unwrap().path(Binary::Kubectl).to_owned();
        Self { program, ns: namespace("kubectl").await }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--kubeconfig")
            .arg(self.ns.cluster().kubeconfig_path())
            .args(["--namespace", self.ns.name()]);
        command
    }

    /// Asserts success and returns the standard output.
    fn run(&self, args: &[&str]) -> String {
        let output = self.command().args(args).output().unwrap();
        assert!(output.status.success(), "kubectl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn apply(&self, yaml: &str, args: &[&str]) -> Output {
        use std::io::Write as _;
        let mut command = self.command();
        command
            .args(["apply", "-f", "-"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(yaml.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    fn apply_examples(&self) {
        let yaml = include_str!("fixtures/published_examples.yaml").replace("vmafx-system", self.ns.name());
        let output = self.apply(&yaml, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }

    /// The output of `kubectl explain` as one line. The API server publishes the texts shortly after the definition.
    async fn explain(&self, path: &str) -> String {
        let explain = || async {
            let output = self.command().args(["explain", path]).output().unwrap();
            let text = String::from_utf8_lossy(if output.status.success() {
                &output.stdout
            } else {
                &output.stderr
            });
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if output.status.success() { Ok(text) } else { Err(text) }
        };
        wait::until(Duration::from_secs(30), path, explain).await.unwrap()
    }

    /// The column names of `kubectl get`.
    fn columns(&self, args: &[&str]) -> Vec<String> {
        let table = self.run(&[&["get"], args].concat());
        table.lines().next().unwrap().split_whitespace().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn the_published_examples_are_accepted_and_shown_in_the_published_columns() {
    let kubectl = Kubectl::new().await;
    kubectl.apply_examples();
    assert_eq!(kubectl.columns(&["vmjob"]), ["NAME", "PHASE", "SCORE", "NODE", "AGE"]);
    assert_eq!(kubectl.columns(&["vmnode"]), ["NAME", "VENDOR", "HEALTHY", "JOBS", "DEVICE", "AGE"]);
    assert_eq!(kubectl.columns(&["vmtrain"]), ["NAME", "PHASE", "SAMPLES", "MODELVERSION", "AGE"]);
    assert_eq!(kubectl.columns(&["vmtenant"]), ["NAME", "ISSUER", "ENABLED", "AGE"]);
    let wide = kubectl.columns(&["vmtenant", "-o", "wide"]);
    assert_eq!(wide[4..], ["TENANT", "NAMESPACES", "READY", "REASON"]);
    let wide = kubectl.columns(&["vmnode", "-o", "wide"]);
    assert_eq!(wide[6..], ["REPLICAS", "READY", "PAUSED", "HEARTBEAT", "QUARANTINED", "IMAGE", "REASON"]);
    let all = kubectl.run(&["get", "vmafx", "-o", "name"]);
    assert_eq!(all.lines().count(), 4, "the category holds all kinds: {all}");
}

#[tokio::test]
async fn jobs_can_be_selected_by_field() {
    let kubectl = Kubectl::new().await;
    kubectl.apply_examples();
    let patch = r#"{"status":{"phase":"Running"}}"#;
    kubectl.run(&["patch", "vmjob", "my-score-job", "--subresource=status", "--type=merge", "-p", patch]);
    let running = kubectl.run(&[
        "get",
        "vmjob",
        "--field-selector=status.phase=Running,spec.backend=cuda",
        "-o",
        "name",
    ]);
    assert_eq!(running.trim(), "vmafxjob.vmafx.dev/my-score-job");
    assert_eq!(kubectl.run(&["get", "vmjob", "--field-selector=status.phase=Failed", "-o", "name"]), "");
}

#[tokio::test]
async fn explain_shows_descriptions_and_fields() {
    let kubectl = Kubectl::new().await;
    let text = kubectl.explain("vmjob.spec.groundTruth").await;
    assert!(text.contains("<number>") && text.contains("becomes a training sample"), "{text}");
    let text = kubectl.explain("vmtrain.spec.checkpoint").await;
    assert!(text.contains("interval") && text.contains("minSamples"), "{text}");
}

#[tokio::test]
async fn a_node_is_scaled_like_any_other_workload() {
    let kubectl = Kubectl::new().await;
    kubectl.apply_examples();
    kubectl.run(&["scale", "vmnode/gpu-node-0", "--replicas=2"]);
    assert_eq!(kubectl.run(&["get", "vmnode", "gpu-node-0", "-o", "jsonpath={.spec.replicas}"]), "2");
    let refused = kubectl.command().args(["scale", "vmnode/gpu-node-0", "--replicas=1001"]).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("should be less than or equal to 1000"));
}

#[tokio::test]
async fn apply_warns_of_an_unknown_field_when_validation_is_lenient() {
    let kubectl = Kubectl::new().await;
    let yaml = "apiVersion: vmafx.dev/v1\nkind: VmafxNode\nmetadata: {name: typo}\nspec: {gpuVendor: cpu, capasity: 2}\n";
    let strict = kubectl.apply(yaml, &[]);
    assert!(!strict.status.success());
    let stderr = String::from_utf8_lossy(&strict.stderr);
    assert!(stderr.contains(r#"unknown field "spec.capasity""#), "{stderr}");
    let lenient = kubectl.apply(yaml, &["--validate=warn"]);
    assert!(lenient.status.success());
    let stderr = String::from_utf8_lossy(&lenient.stderr);
    assert!(stderr.contains("Warning:") && stderr.contains(r#"unknown field "spec.capasity""#), "{stderr}");
}
