//! `make run`: the project at work, from nothing, on this machine.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::process::{Launch, Process};
use vmafx_testkit::kube::{ControlPlane, Options, install_crds};

use crate::one_machine::OneMachine;
use crate::test::cargo;
use crate::workspace;

const PATIENCE: Duration = Duration::from_mins(1);

/// Two ways to one score may not differ by more; they are added up in another order.
const SAME: f64 = 1e-6;

/// A control plane, a controller with a node, an operator, and a VmafxJob that becomes a score; with `keep`, stays until
/// interrupted.
pub(crate) fn run(keep: bool) -> Result<()> {
    let kubectl = ensure(&[Binary::Kubectl])?.path(Binary::Kubectl).to_owned();
    cargo(&["build", "--locked", "--quiet", "--bin", "vmafx", "--bin", "vmafx-operator"], &[])?;
    let runtime = Runtime::new()?;
    println!("==> a Kubernetes control plane with the custom resource definitions");
    let plane = runtime.block_on(async {
        let plane = ControlPlane::start(Options::default()).await?;
        install_crds(&plane.client()?, &vmafx_api::crd::all()).await.context("install the CRDs")?;
        anyhow::Ok(plane)
    })?;
    println!("==> a controller, a node and an operator");
    let clips = workspace::root().join("crates/scoring/tests/data");
    let machine = OneMachine::start(&runtime, workspace::debug("vmafx"), &clips, &[])?;
    let _operator = Operator::start(&runtime, plane.kubeconfig_path(), &machine)?;
    println!("==> a VmafxJob");
    let kubectl = Kubectl { program: &kubectl, kubeconfig: plane.kubeconfig_path() };
    let sample = sample(&clips);
    print!("{sample}");
    kubectl.run(&["apply", "-f", "-"], Some(&sample))?;
    kubectl.run(&["wait", "--for=condition=Complete", "vmjob/sample", "--timeout=2m"], None)?;
    kubectl.run(&["get", "vmjob", "-o", "wide"], None)?;
    let (scored, directly) = (kubectl.score()?, score(&clips)?);
    println!("==> vmafx score says the same: {directly}");
    if (scored - directly).abs() > SAME {
        bail!("the VmafxJob has {scored}, vmafx score {directly}");
    }
    println!("==> to go on, with make run KEEP=1");
    println!("kubectl explain vmjob.spec            what a job can say");
    println!(
        "vmafx kube explain sample             why it is where it is (kubectl vmafx explain, once installed)"
    );
    println!("vmafx watch                           the queue, live");
    if keep {
        println!("==> up until Ctrl-C; in another terminal:");
        println!("export KUBECONFIG={}", plane.kubeconfig_path().display());
        for (variable, value) in machine.variables() {
            println!("export {variable}={value}");
        }
        runtime.block_on(tokio::signal::ctrl_c())?;
    }
    Ok(())
}

/// The sample pair. Its files have no header, so the job says what is in them.
fn sample(clips: &Path) -> String {
    let clips = clips.display();
    format!(
        "apiVersion: vmafx.dev/v1
kind: VmafxJob
metadata:
  name: sample
spec:
  reference: file://{clips}/ref_160x90.yuv
  distorted: file://{clips}/dis_160x90.yuv
  input: {{ width: 160, height: 90, pixelFormat: yuv420p }}
  model: vmaf_v0.6.1
  minScore: 50
"
    )
}

/// The score of the sample pair, without anything around it.
fn score(clips: &Path) -> Result<f64> {
    let arguments = "score ref_160x90.yuv dis_160x90.yuv --size 160x90 --pixel-format yuv420p --model vmaf_v0.6.1 -o json";
    let output = Command::new(workspace::debug("vmafx"))
        .args(arguments.split(' '))
        .current_dir(clips)
        .output()
        .context("run vmafx score")?;
    let report: Value = serde_json::from_slice(&output.stdout).context("the report of vmafx score")?;
    report["pooled_metrics"]["vmaf"]["mean"].as_f64().context("no score in the report of vmafx score")
}

/// An operator on this machine. It ends when this is dropped.
struct Operator {
    _process: Process,
    _directory: TempDir,
}

impl Operator {
    fn start(runtime: &Runtime, kubeconfig: &Path, machine: &OneMachine) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("vmafx-operator-").tempdir()?;
        let log = directory.path().join("log");
        let launch = Launch::new("vmafx-operator", workspace::debug("vmafx-operator"), &log)
            .env("KUBECONFIG", kubeconfig)
            .env("POD_NAMESPACE", "default")
            .env("VMAFX_OPERATOR_METRICS_ADDR", "0")
            .env("VMAFX_OPERATOR_HEALTH_PROBE_ADDR", "0")
            .env("VMAFX_CONTROLLER_GRPC_ADDR", machine.grpc())
            .env("VMAFX_CONTROLLER_HTTP_ADDR", format!("http://{}", machine.http()))
            .env("VMAFX_CONTROLLER_TOKEN_FILE", machine.token_file());
        let mut process = Process::start(&launch).context("start vmafx-operator")?;
        // It logs before it does anything else.
        let begun = || std::future::ready(std::fs::metadata(&log).is_ok_and(|file| file.len() > 0));
        runtime.block_on(process.ready(PATIENCE, begun))?;
        Ok(Self { _process: process, _directory: directory })
    }
}

/// `kubectl` for one cluster.
struct Kubectl<'a> {
    program: &'a Path,
    kubeconfig: &'a Path,
}

impl Kubectl<'_> {
    /// Shows the command and runs it; an error when it fails.
    fn run(&self, arguments: &[&str], input: Option<&str>) -> Result<()> {
        println!("$ kubectl {}", arguments.join(" "));
        let mut command = Command::new(self.program);
        command.arg("--kubeconfig").arg(self.kubeconfig).args(arguments).stdin(Stdio::piped());
        let mut child = command.spawn().context("run kubectl")?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.unwrap_or_default().as_bytes())?;
        }
        if !child.wait()?.success() {
            bail!("kubectl {} failed", arguments.join(" "));
        }
        Ok(())
    }

    /// The score of the sample.
    fn score(&self) -> Result<f64> {
        let path = "jsonpath={.status.score}";
        let output = Command::new(self.program)
            .arg("--kubeconfig")
            .arg(self.kubeconfig)
            .args(["get", "vmjob", "sample", "-o", path])
            .output()
            .context("run kubectl")?;
        String::from_utf8(output.stdout)?.parse().context("the score of the sample")
    }
}
