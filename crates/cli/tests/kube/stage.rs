//! A namespace of a real API server, a home, and the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode};
use vmafx_testkit::kube::{ControlPlane, TestNamespace, install_crds};
use vmafx_testkit::wait;

pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Stage {
    pub(crate) ns: TestNamespace,
    home: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        let cluster = ControlPlane::shared().await.unwrap();
        install_crds(&cluster.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        Self { ns: cluster.namespace("kcli").await.unwrap(), home: tempfile::tempdir().unwrap() }
    }

    /// The same in a cluster of one's own.
    pub(crate) fn on(ns: TestNamespace) -> Self {
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

    /// The program, at home, with an environment in which nothing surprises.
    pub(crate) fn bare(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir(self.home.path());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["VMAFX_", "KUBE", "XDG_"].iter().any(|start| text.starts_with(start)) {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.home.path()).env("RUST_BACKTRACE", "1");
        command
    }

    /// `vmafx kube` in the namespace.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.bare(env!("CARGO_BIN_EXE_vmafx"));
        command.env("KUBECONFIG", self.kubeconfig());
        command.arg("kube").args(words).args(["--namespace", self.ns.name()]);
        command
    }

    pub(crate) fn kube(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(words))
    }

    /// What a program reads.
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

    /// A job that nobody has seen.
    pub(crate) async fn job(&self, name: &str, spec: Value) -> DynamicObject {
        let mut whole = json!({ "reference": "s3://b/r.mp4", "distorted": format!("s3://b/{name}.mp4") });
        for (field, value) in spec.as_object().unwrap() {
            whole[field] = value.clone();
        }
        create(&self.jobs(), "VmafxJob", name, &json!({ "team": "web" }), &whole).await
    }

    /// Writes a status as the operator does.
    pub(crate) async fn status(&self, api: &Api<DynamicObject>, name: &str, status: &Value) {
        let live = api.get(name).await.unwrap();
        let types = live.types.unwrap();
        let mut status = status.clone();
        status["observedGeneration"] = json!(live.metadata.generation);
        let object = json!({ "apiVersion": types.api_version, "kind": types.kind, "metadata": { "name": name }, "status": status });
        let params = PatchParams::apply("vmafx-operator").force();
        api.patch_status(name, &params, &Patch::Apply(object)).await.unwrap();
    }

    /// The same of a job.
    pub(crate) async fn says(&self, name: &str, status: &Value) {
        self.status(&self.jobs(), name, status).await;
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

/// A condition.
pub(crate) fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-02T03:04:05Z" })
}

pub(crate) fn waits(reason: &str, message: &str) -> Value {
    json!({ "phase": "Pending", "message": message, "controllerJobID": "01890a5d-ac96-774b-bcce-b302099a8057", "conditions": [
        condition("Accepted", "True", "Submitted", ""), condition("Running", "False", reason, message),
        condition("Complete", "False", reason, ""), condition("Failed", "False", reason, ""),
        condition("Suspended", "False", "NotSuspended", ""),
    ] })
}

pub(crate) fn runs(node: &str) -> Value {
    json!({ "phase": "Running", "assignedNode": node, "startedAt": "2026-01-02T03:04:05Z", "attempts": 1,
        "controllerJobID": "01890a5d-ac96-774b-bcce-b302099a8057", "conditions": [
        condition("Accepted", "True", "Submitted", ""), condition("Running", "True", "Scoring", "it is scored"),
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

/// What a program did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// What it said, if all went well.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// What it complained of, in one go and without a backtrace.
    pub(crate) fn refused(self) -> String {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert!(self.stderr.starts_with("error: ") && !self.stderr.contains("backtrace"), "{self:?}");
        self.stderr
    }

    /// The words of each line.
    pub(crate) fn rows(self) -> Vec<Vec<String>> {
        self.ok().lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    }
}

/// A program that runs, killed when dropped.
pub(crate) struct Started {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Started {
    pub(crate) fn start(stage: &Stage, mut command: Command) -> Self {
        let id = uuid::Uuid::new_v4().simple().to_string();
        let (out, err) = (stage.path(&format!("{id}.out")), stage.path(&format!("{id}.err")));
        command.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
        Self { child: command.spawn().unwrap(), out, err }
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    /// Waits until it has said this.
    pub(crate) async fn until(&self, text: &str) {
        let heard = async || {
            let said = format!("{}\n{}", self.said(), fs::read_to_string(&self.err).unwrap());
            if said.contains(text) { Ok(()) } else { Err(said) }
        };
        wait::until(PATIENCE, text, heard).await.unwrap();
    }

    /// As Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, Signal::INT).unwrap();
    }

    /// Waits for the end.
    pub(crate) async fn end(mut self) -> Ran {
        let over = || std::future::ready(self.child.try_wait().unwrap());
        let status = wait::until(PATIENCE, "the program's end", over).await.unwrap();
        Ran { code: status.code(), stdout: self.said(), stderr: fs::read_to_string(&self.err).unwrap() }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a job is watched: whoever watches has been told of this label.
pub(crate) async fn touch(client: Client, ns: &str, name: &str, value: &str) {
    let api: Api<DynamicObject> = Api::namespaced_with(client, ns, &ApiResource::erase::<VmafxJob>(&()));
    let patch = json!({ "metadata": { "labels": { "touched": value } } });
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}
