//! A namespace of a real API server, a home directory, and the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client};
use serde_json::{Value, json};
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode};
use vmafx_testkit::command::{CommandOutput, interrupt, remove_variables};
use vmafx_testkit::kube::{ControlPlane, TestNamespace, install_crds};
use vmafx_testkit::wait;

pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct Harness {
    pub(crate) ns: TestNamespace,
    home: tempfile::TempDir,
}

impl Harness {
    pub(crate) async fn new() -> Self {
        let cluster = ControlPlane::shared().await.unwrap();
        install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        Self { ns: cluster.namespace("kcli").await.unwrap(), home: tempfile::tempdir().unwrap() }
    }

    /// Uses the namespace of a test's own cluster.
    pub(crate) fn in_namespace(ns: TestNamespace) -> Self {
        Self { ns, home: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        self.ns.cluster().kubeconfig_path()
    }

    /// A program in the home directory, without the variables that configure it.
    pub(crate) fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir(self.home.path());
        remove_variables(&mut command, &["VMAFX_", "KUBE", "XDG_"]);
        command.env("HOME", self.home.path()).env("RUST_BACKTRACE", "1");
        command
    }

    /// `vmafx kube` in the namespace.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_vmafx"));
        command.env("KUBECONFIG", self.kubeconfig());
        command.arg("kube").args(words).args(["--namespace", self.ns.name()]);
        command
    }

    pub(crate) fn kube(&self, words: &[&str]) -> CommandOutput {
        CommandOutput::of(&mut self.command(words))
    }

    pub(crate) fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.kube(&[words, &["-o", "json"]].concat()).ok()).unwrap()
    }

    fn api(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.ns.client(), self.ns.name(), resource)
    }

    pub(crate) fn jobs(&self) -> Api<DynamicObject> {
        self.api(&ApiResource::erase::<VmafxJob>(&()))
    }

    pub(crate) fn nodes(&self) -> Api<DynamicObject> {
        self.api(&ApiResource::erase::<VmafxNode>(&()))
    }

    pub(crate) fn trainings(&self) -> Api<DynamicObject> {
        self.api(&ApiResource::erase::<VmafxModelTraining>(&()))
    }

    /// Creates a job without a status.
    pub(crate) async fn create_job(&self, name: &str, spec: Value) -> DynamicObject {
        let mut full = json!({ "reference": "s3://b/r.mp4", "distorted": format!("s3://b/{name}.mp4") });
        for (field, value) in spec.as_object().unwrap() {
            full[field] = value.clone();
        }
        create(&self.jobs(), "VmafxJob", name, &json!({ "team": "web" }), &full).await
    }

    /// Writes a status as the operator does.
    pub(crate) async fn set_status(&self, api: &Api<DynamicObject>, name: &str, status: &Value) {
        let live = api.get(name).await.unwrap();
        let types = live.types.unwrap();
        let mut status = status.clone();
        status["observedGeneration"] = json!(live.metadata.generation);
        let object = json!({ "apiVersion": types.api_version, "kind": types.kind, "metadata": { "name": name }, "status": status });
        let params = PatchParams::apply("vmafx-operator").force();
        api.patch_status(name, &params, &Patch::Apply(object)).await.unwrap();
    }

    pub(crate) async fn set_job_status(&self, name: &str, status: &Value) {
        self.set_status(&self.jobs(), name, status).await;
    }
}

pub(crate) async fn create(
    api: &Api<DynamicObject>,
    kind: &str,
    name: &str,
    labels: &Value,
    spec: &Value,
) -> DynamicObject {
    let object = json!({ "apiVersion": "vmafx.dev/v1", "kind": kind, "metadata": { "name": name, "labels": labels }, "spec": spec });
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
}

pub(crate) fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-02T03:04:05Z" })
}

pub(crate) fn pending(reason: &str, message: &str) -> Value {
    json!({ "phase": "Pending", "message": message, "controllerJobID": "01890a5d-ac96-774b-bcce-b302099a8057", "conditions": [
        condition("Accepted", "True", "Submitted", ""), condition("Running", "False", reason, message),
        condition("Complete", "False", reason, ""), condition("Failed", "False", reason, ""),
        condition("Suspended", "False", "NotSuspended", ""),
    ] })
}

pub(crate) fn running(node: &str) -> Value {
    json!({ "phase": "Running", "assignedNode": node, "startedAt": "2026-01-02T03:04:05Z", "attempts": 1,
        "controllerJobID": "01890a5d-ac96-774b-bcce-b302099a8057", "conditions": [
        condition("Accepted", "True", "Submitted", ""), condition("Running", "True", "Scoring", "the job is being scored"),
        condition("Complete", "False", "Scoring", ""), condition("Failed", "False", "Scoring", ""),
        condition("Suspended", "False", "NotSuspended", ""),
    ] })
}

pub(crate) fn scored(score: f64, passed: Option<bool>) -> Value {
    let mut status = json!({ "phase": "Succeeded", "score": score, "assignedNode": "worker-0", "message": "the score is there",
        "startedAt": "2026-01-02T03:04:05Z", "finishedAt": "2026-01-02T03:05:05Z", "model": { "name": "vmaf_v0.6.1" },
        "conditions": [
        condition("Accepted", "True", "Submitted", ""), condition("Running", "False", "Finished", ""),
        condition("Complete", "True", if passed == Some(false) { "BelowMinScore" } else { "Scored" }, "the score is there"),
        condition("Failed", "False", "Scored", ""), condition("Suspended", "False", "NotSuspended", ""),
    ] });
    if let Some(passed) = passed {
        status["passed"] = json!(passed);
    }
    status
}

pub(crate) fn failed(phase: &str, reason: &str, message: &str) -> Value {
    json!({ "phase": phase, "message": message, "finishedAt": "2026-01-02T03:05:05Z", "conditions": [
        condition("Accepted", "True", "Submitted", ""), condition("Running", "False", "Finished", ""),
        condition("Complete", "False", reason, ""), condition("Failed", "True", reason, message),
        condition("Suspended", "False", "NotSuspended", ""),
    ] })
}

/// A running command, killed when dropped.
pub(crate) struct RunningCommand {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl RunningCommand {
    pub(crate) fn start(harness: &Harness, mut command: Command) -> Self {
        let id = uuid::Uuid::new_v4().simple().to_string();
        let (out, err) = (harness.path(&format!("{id}.out")), harness.path(&format!("{id}.err")));
        command.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
        Self { child: command.spawn().unwrap(), out, err }
    }

    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    /// Waits until the output contains this.
    pub(crate) async fn until(&self, text: &str) {
        let contains = async || {
            let output = format!("{}\n{}", self.stdout(), fs::read_to_string(&self.err).unwrap());
            if output.contains(text) { Ok(()) } else { Err(output) }
        };
        wait::until(TIMEOUT, text, contains).await.unwrap();
    }

    pub(crate) fn interrupt(&self) {
        interrupt(&self.child);
    }

    pub(crate) async fn end(mut self) -> CommandOutput {
        let ended = || std::future::ready(self.child.try_wait().unwrap());
        let status = wait::until(TIMEOUT, "the end of the command", ended).await.unwrap();
        CommandOutput {
            code: status.code(),
            stdout: self.stdout(),
            stderr: fs::read_to_string(&self.err).unwrap(),
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Changes a label of a job, which creates an event for its watchers.
pub(crate) async fn touch(client: Client, ns: &str, name: &str, value: &str) {
    let api: Api<DynamicObject> = Api::namespaced_with(client, ns, &ApiResource::erase::<VmafxJob>(&()));
    let patch = json!({ "metadata": { "labels": { "touched": value } } });
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}
