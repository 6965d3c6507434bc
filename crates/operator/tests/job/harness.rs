//! The control plane, the controller, the operator and the resources of one test.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use vmafx_api::{Condition, VmafxJob};
use vmafx_testkit::kube::proxy::ApiProxy;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, TestNamespace, install_crds};
use vmafx_testkit::wait;

use crate::control_plane::account;
use crate::controller::{Controller, TOKEN};
use crate::operator::{Operator, OperatorCommand};
use crate::resources::{self, TIMEOUT};

/// Fields are dropped in order, so the operator stops first and the control plane last.
pub(crate) struct Harness {
    pub(crate) operator: Operator,
    pub(crate) controller: Controller,
    pub(crate) proxy: ApiProxy,
    pub(crate) namespace: TestNamespace,
    pub(crate) jobs: Api<VmafxJob>,
    command: OperatorCommand,
    _directory: TempDir,
    pub(crate) plane: ControlPlane,
}

/// Another cluster with an operator of its own. Fields are dropped in order, so the operator stops first.
pub(crate) struct ClusterCopy {
    operator: Operator,
    _proxy: ApiProxy,
    _directory: TempDir,
    _plane: ControlPlane,
}

impl ClusterCopy {
    pub(crate) async fn until_metric(&self, name: &str, labels: &str, least: f64) {
        self.operator.until_metric(name, labels, least).await;
    }
}

impl Harness {
    /// Starts everything and waits until the operator is ready.
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// The same with further settings of the operator.
    pub(crate) async fn with(settings: &[(&'static str, &str)]) -> Self {
        let controller = Controller::start().await;
        let address = controller.grpc();
        Self::reaching(controller, address, settings).await
    }

    /// The same with this controller, which the operator reaches at `address`.
    pub(crate) async fn reaching(
        controller: Controller,
        address: SocketAddr,
        settings: &[(&'static str, &str)],
    ) -> Self {
        let plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
        Self::on(plane, controller, address, settings).await
    }

    /// The same on this control plane.
    pub(crate) async fn on(
        plane: ControlPlane,
        controller: Controller,
        address: SocketAddr,
        settings: &[(&'static str, &str)],
    ) -> Self {
        install_crds(&plane.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        let account = account(&plane).await;
        let proxy = ApiProxy::start(&plane).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut env = vec![
            ("VMAFX_CONTROLLER_HTTP_ADDR", format!("http://{}", controller.http())),
            ("VMAFX_CONTROLLER_GRPC_ADDR", address.to_string()),
            ("VMAFX_CONTROLLER_TOKEN", TOKEN.to_owned()),
        ];
        env.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let command = OperatorCommand::new(directory.path(), &account, &proxy, env);
        let mut operator = Operator::start(&command);
        operator.ready().await;
        let namespace = plane.namespace("jobs").await.unwrap();
        let jobs = Api::namespaced(namespace.client(), namespace.name());
        Self { operator, controller, proxy, namespace, jobs, command, _directory: directory, plane }
    }

    /// Kills the operator, if it still runs, and starts it again.
    pub(crate) async fn restart_operator(&mut self) {
        self.operator.kill();
        self.operator = Operator::start(&self.command);
        self.operator.ready().await;
    }

    /// A second control plane whose operator uses the same controller.
    pub(crate) async fn copy_of_the_cluster(&self, settings: &[(&'static str, &str)]) -> ClusterCopy {
        let plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
        install_crds(&plane.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        let account = account(&plane).await;
        let proxy = ApiProxy::start(&plane).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut env = self.command.env.clone();
        env.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let command = OperatorCommand::new(directory.path(), &account, &proxy, env);
        let mut operator = Operator::start(&command);
        operator.ready().await;
        ClusterCopy { operator, _proxy: proxy, _directory: directory, _plane: plane }
    }

    /// Starts a second operator.
    pub(crate) async fn another_operator(&self) -> Operator {
        let mut operator =
            Operator::start(&OperatorCommand { name: "another".to_owned(), ..self.command.clone() });
        operator.ready().await;
        operator
    }

    /// Creates a job; `spec` is merged over the default one.
    pub(crate) async fn create(&self, name: &str, spec: Value) -> VmafxJob {
        let mut whole = json!({ "reference": "file:///clips/r.y4m", "distorted": "file:///clips/d.y4m" });
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let job = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name }, "spec": whole,
        });
        self.jobs.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap()
    }

    pub(crate) async fn change(&self, name: &str, patch: Value) {
        self.jobs.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.jobs.delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn until(&self, name: &str, what: &str, holds: impl Fn(&VmafxJob) -> bool) -> VmafxJob {
        resources::until(&self.jobs, name, what, holds).await
    }

    pub(crate) async fn until_phase(&self, name: &str, phase: &str) -> VmafxJob {
        self.until(name, &format!("{name} to be {phase}"), |job| self::phase(job) == phase).await
    }

    pub(crate) async fn until_reason(&self, name: &str, type_: &str, reason: &str) -> VmafxJob {
        let what = format!("{type_} of {name} to be {reason}");
        self.until(name, &what, |job| resources::reason(job, type_) == reason).await
    }

    /// Waits until the controller has this many open jobs.
    pub(crate) async fn until_open(&self, count: usize) {
        wait::until(TIMEOUT, &format!("{count} open jobs"), || async {
            let open = self.controller.open_jobs().await.len();
            if open == count { Ok(()) } else { Err(open.to_string()) }
        })
        .await
        .unwrap();
    }

    /// Waits until the operator's live stream is connected.
    pub(crate) async fn until_streaming(&self) {
        self.until_metric("operator_controller_stream_live", "", 1.0).await;
    }

    /// Waits until a metric of the operator is at least `least`.
    pub(crate) async fn until_metric(&self, name: &str, labels: &str, least: f64) {
        self.operator.until_metric(name, labels, least).await;
    }

    /// The reasons in all statuses of jobs that the operator has written so far.
    pub(crate) fn written_reasons(&self) -> BTreeSet<String> {
        let mut writes = self.proxy.writes();
        writes.retain(|write| write.request.resource == "vmafxjobs" && write.request.subresource == "status");
        let conditions = writes.into_iter().flat_map(|write| {
            let mut body = write.request.json();
            serde_json::from_value::<Vec<Condition>>(body["status"]["conditions"].take()).unwrap()
        });
        conditions.map(|condition| condition.reason).collect()
    }

    /// Checks that no job was ever said to be without a controller.
    pub(crate) fn assert_never_unreachable(&self) {
        let reasons = self.written_reasons();
        assert!(reasons.contains("Submitted"), "{reasons:?}");
        assert!(!reasons.contains("ControllerUnreachable"), "{reasons:?}");
    }

    /// Waits until these are the reasons of the events, in order of their time or sorted.
    pub(crate) async fn until_events(&self, expected: &[&str]) {
        wait::until(TIMEOUT, "events", || async {
            let mut events = self.events().await;
            if events != expected {
                events.sort();
            }
            if events == expected { Ok(()) } else { Err(events.join(", ")) }
        })
        .await
        .unwrap();
    }

    /// The reasons of all events so far, oldest first.
    pub(crate) async fn events(&self) -> Vec<String> {
        resources::events(&self.namespace).await.into_iter().filter_map(|event| event.reason).collect()
    }
}

pub(crate) fn phase(job: &VmafxJob) -> String {
    let phase = job.status.as_ref().and_then(|status| status.phase);
    phase.map(|phase| format!("{phase:?}")).unwrap_or_default()
}

/// Status and reason of a condition.
pub(crate) fn condition(job: &VmafxJob, type_: &str) -> (String, String) {
    (resources::condition_field(job, type_, "status"), resources::reason(job, type_))
}

pub(crate) fn controller_id(job: &VmafxJob) -> Option<String> {
    job.status.as_ref()?.controller_job_id.clone()
}

pub(crate) fn message(job: &VmafxJob) -> String {
    job.status.as_ref().and_then(|status| status.message.clone()).unwrap_or_default()
}

pub(crate) fn uid(job: &VmafxJob) -> String {
    job.uid().unwrap()
}
