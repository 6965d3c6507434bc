//! `make run` with Kubernetes: a control plane, a queue with a node, an operator, and a VmafxJob.

use std::cell::RefCell;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use kube::Api;
use kube::runtime::wait::await_condition;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use vmafx_api::VmafxJob;
use vmafx_api::job::Phase;
use vmafx_testkit::kube::assets::{AssetLocation, Binary, ensure, locate};
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, install_crds};

use super::next_steps::{NextSteps, Suggestion, line};
use super::progress::ProgressTable;
use super::{kubectl, sample, wait_for_interrupt};
use crate::test::cargo;
use crate::vmafx_up::VmafxUp;
use crate::workspace;

const TIMEOUT: Duration = Duration::from_mins(2);

const PLANE: &str = "control plane";
const QUEUE: &str = "queue and node";
const OPERATOR: &str = "operator";
const JOB: &str = "vmjob/sample";

pub(super) fn run(runtime: &Runtime, keep: bool) -> Result<()> {
    let kubectl = build()?;

    println!("==> scoring a VmafxJob");
    let started = Instant::now();
    let mut progress = ProgressTable::new();
    progress.set(PLANE, "starting", "etcd and kube-apiserver, with the CRDs")?;
    let plane = runtime.block_on(async {
        let plane = ControlPlane::start(ControlPlaneOptions::default()).await?;
        install_crds(&plane.client()?, &vmafx_api::crd::all()).await.context("cannot install the CRDs")?;
        anyhow::Ok(plane)
    })?;
    progress.set(PLANE, "ready", &plane.config().cluster_url.to_string())?;
    progress.set(QUEUE, "starting", "vmafx up")?;
    let up = VmafxUp::start(runtime, workspace::debug("vmafx"), &sample::clips(), &[])?;
    progress.set(QUEUE, "ready", up.grpc())?;
    progress.set(OPERATOR, "starting", "")?;
    let _operator = Operator::start(runtime, plane.kubeconfig_path(), &up)?;
    progress.set(OPERATOR, "ready", "")?;
    let kubectl = Kubectl { program: &kubectl, kubeconfig: plane.kubeconfig_path() };
    kubectl.apply(&sample::job())?;
    // The client must be created inside the runtime.
    let score = runtime.block_on(async { score(plane.client()?, progress).await })?;
    println!("==> after {:.1} s:", started.elapsed().as_secs_f64());
    kubectl.show(&["get", "vmjob", "sample", "-o", "wide"])?;
    sample::compare(score)?;

    let kubeconfig = plane.kubeconfig_path().display().to_string();
    let [controller, token] = up.variables();
    let next =
        NextSteps::new(Some(kubectl.program), &[("KUBECONFIG", kubeconfig.as_str()), controller, token])?;
    next.show(&suggestions(), keep);
    wait_for_interrupt(runtime, keep)
}

/// Builds the programs of the control plane and our own, and returns the path of kubectl. `scripts/prebuild` has compiled
/// most of it; without it, neither build waits for the other.
fn build() -> Result<PathBuf> {
    let kubectl = kubectl::existing()?;
    let needed =
        Binary::CONTROL_PLANE.into_iter().filter(|binary| *binary != Binary::Kubectl || kubectl.is_none());
    let needed: Vec<_> = needed.collect();
    let missing = needed.iter().filter(|binary| matches!(locate(**binary), Ok(AssetLocation::Missing(_))));
    let names: Vec<_> = missing.map(|binary| binary.name()).chain(["vmafx", "vmafx-operator"]).collect();
    println!("==> building {}", names.join(", "));
    thread::scope(|scope| {
        let assets = scope.spawn(|| ensure(&needed));
        cargo(&["build", "--locked", "--bin", "vmafx", "--bin", "vmafx-operator"], &[])?;
        let assets = assets.join().map_err(|_| anyhow!("the build of the control plane panicked"))??;
        Ok(kubectl.unwrap_or_else(|| assets.path(Binary::Kubectl).to_owned()))
    })
}

/// Commands that show the resource, create another one, and show the queue.
fn suggestions() -> [Suggestion; 3] {
    let [reference, distorted] = sample::pair().map(|clip| format!("file://{clip}"));
    let submit = ["kubectl", "vmafx", "submit", &reference, &distorted].into_iter();
    let submit = submit.chain(sample::RAW).chain(["--wait"]);
    [
        ("kubectl vmafx explain sample".to_owned(), "the state of the job and its reason"),
        (line(submit), "submit another job"),
        ("vmafx get jobs".to_owned(), "the same jobs in the queue"),
    ]
}

/// Waits for the score, and shows the progress of the job.
async fn score(client: kube::Client, table: ProgressTable<io::Stdout>) -> Result<f64> {
    // The condition must be `Fn`, so it needs interior mutability to update the table.
    let (table, failure) = (RefCell::new(table), RefCell::new(None));
    let ended = |job: Option<&VmafxJob>| {
        let progress = JobProgress::of(job);
        if let Err(error) = table.borrow_mut().set(JOB, &progress.phase, &progress.note) {
            failure.replace(Some(error));
        }
        progress.ended || failure.borrow().is_some()
    };
    let jobs: Api<VmafxJob> = Api::default_namespaced(client);
    let waited = tokio::time::timeout(TIMEOUT, await_condition(jobs, "sample", ended)).await;
    let job = waited.context("the job has no score after two minutes")?.context("cannot watch the job")?;
    if let Some(error) = failure.into_inner() {
        return Err(error.into());
    }
    let score = job.as_ref().and_then(|job| job.status.as_ref()?.score);
    score.ok_or_else(|| anyhow!("the job ended without a score: {}", JobProgress::of(job.as_ref()).note))
}

#[derive(Debug, PartialEq, Eq)]
struct JobProgress {
    phase: String,
    note: String,
    ended: bool,
}

impl JobProgress {
    fn of(job: Option<&VmafxJob>) -> Self {
        let status = job.and_then(|job| job.status.clone()).unwrap_or_default();
        let phase = status.phase.map_or_else(|| "new".to_owned(), |phase| format!("{phase:?}"));
        let reason =
            || status.conditions.iter().find(|condition| condition.type_ == "Running").map(|one| &one.reason);
        let note = match (status.score, &status.message) {
            (Some(score), _) => format!("score {score}"),
            (None, Some(message)) if !message.is_empty() => message.clone(),
            _ => reason().cloned().unwrap_or_default(),
        };
        Self { phase, note, ended: status.phase.is_some_and(Phase::is_last) }
    }
}

/// Stopped on drop.
struct Operator {
    _process: ChildProcess,
    _directory: TempDir,
}

impl Operator {
    fn start(runtime: &Runtime, kubeconfig: &Path, up: &VmafxUp) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("vmafx-operator-").tempdir()?;
        let log = directory.path().join("log");
        let launch = ChildCommand::new("vmafx-operator", workspace::debug("vmafx-operator"), &log)
            .env("KUBECONFIG", kubeconfig)
            .env("POD_NAMESPACE", "default")
            .env("VMAFX_OPERATOR_METRICS_ADDR", "0")
            .env("VMAFX_OPERATOR_HEALTH_PROBE_ADDR", "0")
            .env("VMAFX_CONTROLLER_GRPC_ADDR", up.grpc())
            .env("VMAFX_CONTROLLER_HTTP_ADDR", format!("http://{}", up.http()))
            .env("VMAFX_CONTROLLER_TOKEN_FILE", up.token_file());
        let mut process = ChildProcess::start(&launch).context("cannot start vmafx-operator")?;
        // The operator writes its first log line at start.
        let logged = || std::future::ready(std::fs::metadata(&log).is_ok_and(|file| file.len() > 0));
        runtime.block_on(process.ready(TIMEOUT, logged))?;
        Ok(Self { _process: process, _directory: directory })
    }
}

struct Kubectl<'a> {
    program: &'a Path,
    kubeconfig: &'a Path,
}

impl Kubectl<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.arg("--kubeconfig").arg(self.kubeconfig).args(arguments);
        command
    }

    fn apply(&self, manifest: &str) -> Result<()> {
        let mut command = self.command(&["apply", "-f", "-"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot run kubectl apply")?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(manifest.as_bytes())?;
        }
        if !child.wait()?.success() {
            bail!("kubectl apply failed");
        }
        Ok(())
    }

    /// Prints the command and its output.
    fn show(&self, arguments: &[&str]) -> Result<()> {
        println!("$ kubectl {}", arguments.join(" "));
        if !self.command(arguments).status().context("cannot run kubectl")?.success() {
            bail!("kubectl {} failed", arguments.join(" "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::new(json!(null), ("new", "", false))]
    #[case::waits(
        json!({"phase": "Pending", "conditions": [{"type": "Running", "status": "False", "reason": "WaitingForSlot",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}),
        ("Pending", "WaitingForSlot", false)
    )]
    #[case::says_why(json!({"phase": "Failed", "message": "no such file"}), ("Failed", "no such file", true))]
    #[case::scored(json!({"phase": "Succeeded", "score": 92.5, "message": "ok"}), ("Succeeded", "score 92.5", true))]
    fn progress_is_phase_note_and_whether_it_ended(
        #[case] status: Value,
        #[case] expected: (&str, &str, bool),
    ) {
        let job = json!({"apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": {"name": "sample"},
            "spec": {"reference": "file:///r", "distorted": "file:///d"}, "status": status});
        let progress = JobProgress::of(Some(&serde_json::from_value(job).unwrap()));
        assert_eq!((progress.phase.as_str(), progress.note.as_str(), progress.ended), expected);
    }
}
