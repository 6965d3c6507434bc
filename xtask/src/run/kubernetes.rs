//! A control plane, a queue with a node, an operator, and a VmafxJob that becomes a score.

use std::cell::RefCell;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use kube::Api;
use kube::runtime::wait::await_condition;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use vmafx_api::VmafxJob;
use vmafx_api::job::Phase;
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, install_crds};

use super::board::Board;
use super::next::{Next, Suggestion, line};
use super::{NEEDED, sample, stay};
use crate::one_machine::OneMachine;
use crate::test::cargo;
use crate::workspace;

const PATIENCE: Duration = Duration::from_mins(2);

const PLANE: &str = "control plane";
const QUEUE: &str = "queue and node";
const OPERATOR: &str = "operator";
const JOB: &str = "vmjob/sample";

pub(super) fn run(runtime: &Runtime, keep: bool) -> Result<()> {
    let kubectl = ensure(&NEEDED)?.path(Binary::Kubectl).to_owned();
    println!("==> building vmafx and vmafx-operator, unless they are");
    cargo(&["build", "--locked", "--quiet", "--bin", "vmafx", "--bin", "vmafx-operator"], &[])?;

    println!("==> a VmafxJob becomes a score");
    let began = Instant::now();
    let mut board = Board::new();
    board.set(PLANE, "starting", "etcd and kube-apiserver, with our definitions")?;
    let plane = runtime.block_on(async {
        let plane = ControlPlane::start(ControlPlaneOptions::default()).await?;
        install_crds(&plane.client()?, &vmafx_api::crd::all()).await.context("install the CRDs")?;
        anyhow::Ok(plane)
    })?;
    board.set(PLANE, "ready", &plane.config().cluster_url.to_string())?;
    board.set(QUEUE, "starting", "vmafx up")?;
    let machine = OneMachine::start(runtime, workspace::debug("vmafx"), &sample::clips(), &[])?;
    board.set(QUEUE, "ready", machine.grpc())?;
    board.set(OPERATOR, "starting", "")?;
    let _operator = Operator::start(runtime, plane.kubeconfig_path(), &machine)?;
    board.set(OPERATOR, "ready", "")?;
    let kubectl = Kubectl { program: &kubectl, kubeconfig: plane.kubeconfig_path() };
    kubectl.apply(&sample::job())?;
    // A client belongs to the runtime that it is made in.
    let score = runtime.block_on(async { score(plane.client()?, board).await })?;
    println!("==> after {:.1} s:", began.elapsed().as_secs_f64());
    kubectl.show(&["get", "vmjob", "sample", "-o", "wide"])?;
    sample::compare(score)?;

    let kubeconfig = plane.kubeconfig_path().display().to_string();
    let [controller, token] = machine.variables();
    let next = Next::new(Some(kubectl.program), &[("KUBECONFIG", kubeconfig.as_str()), controller, token])?;
    next.show(&suggestions(), keep);
    stay(runtime, keep)
}

/// Each of another part: the resource, a new one, the queue below.
fn suggestions() -> [Suggestion; 3] {
    let [reference, distorted] = sample::pair().map(|clip| format!("file://{clip}"));
    let submit = ["kubectl", "vmafx", "submit", &reference, &distorted].into_iter();
    let submit = submit.chain(sample::RAW).chain(["--wait"]);
    [
        ("kubectl vmafx explain sample".to_owned(), "where the job stands, and why"),
        (line(submit), "another one, of your own"),
        ("vmafx get jobs".to_owned(), "the same jobs, as the queue has them"),
    ]
}

/// Follows the job to its score.
async fn score(client: kube::Client, board: Board<io::Stdout>) -> Result<f64> {
    // A condition is asked about every change, and may not change anything itself.
    let (board, trouble) = (RefCell::new(board), RefCell::new(None));
    let over = |job: Option<&VmafxJob>| {
        let seen = Seen::of(job);
        if let Err(error) = board.borrow_mut().set(JOB, &seen.phase, &seen.note) {
            trouble.replace(Some(error));
        }
        seen.over || trouble.borrow().is_some()
    };
    let jobs: Api<VmafxJob> = Api::default_namespaced(client);
    let waited = tokio::time::timeout(PATIENCE, await_condition(jobs, "sample", over)).await;
    let job = waited.context("the job has no score within two minutes")?.context("watch the job")?;
    if let Some(error) = trouble.into_inner() {
        return Err(error.into());
    }
    let score = job.as_ref().and_then(|job| job.status.as_ref()?.score);
    score.ok_or_else(|| anyhow!("the job ended without a score: {}", Seen::of(job.as_ref()).note))
}

/// What is to be said of a job.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    phase: String,
    note: String,
    over: bool,
}

impl Seen {
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
        Self { phase, note, over: status.phase.is_some_and(Phase::is_last) }
    }
}

/// An operator on this machine. It ends when this is dropped.
struct Operator {
    _process: ChildProcess,
    _directory: TempDir,
}

impl Operator {
    fn start(runtime: &Runtime, kubeconfig: &Path, machine: &OneMachine) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("vmafx-operator-").tempdir()?;
        let log = directory.path().join("log");
        let launch = ChildCommand::new("vmafx-operator", workspace::debug("vmafx-operator"), &log)
            .env("KUBECONFIG", kubeconfig)
            .env("POD_NAMESPACE", "default")
            .env("VMAFX_OPERATOR_METRICS_ADDR", "0")
            .env("VMAFX_OPERATOR_HEALTH_PROBE_ADDR", "0")
            .env("VMAFX_CONTROLLER_GRPC_ADDR", machine.grpc())
            .env("VMAFX_CONTROLLER_HTTP_ADDR", format!("http://{}", machine.http()))
            .env("VMAFX_CONTROLLER_TOKEN_FILE", machine.token_file());
        let mut process = ChildProcess::start(&launch).context("start vmafx-operator")?;
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
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.arg("--kubeconfig").arg(self.kubeconfig).args(arguments);
        command
    }

    /// Makes what a manifest says.
    fn apply(&self, manifest: &str) -> Result<()> {
        let mut command = self.command(&["apply", "-f", "-"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().context("run kubectl apply")?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(manifest.as_bytes())?;
        }
        if !child.wait()?.success() {
            bail!("kubectl apply failed");
        }
        Ok(())
    }

    /// Shows the command and what it says.
    fn show(&self, arguments: &[&str]) -> Result<()> {
        println!("$ kubectl {}", arguments.join(" "));
        if !self.command(arguments).status().context("run kubectl")?.success() {
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
    fn a_job_is_told_in_three_words(#[case] status: Value, #[case] expected: (&str, &str, bool)) {
        let job = json!({"apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": {"name": "sample"},
            "spec": {"reference": "file:///r", "distorted": "file:///d"}, "status": status});
        let seen = Seen::of(Some(&serde_json::from_value(job).unwrap()));
        assert_eq!((seen.phase.as_str(), seen.note.as_str(), seen.over), expected);
    }
}
