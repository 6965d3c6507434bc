//! The control plane, the controller, the operator and the resources of one test.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use vmafx_api::VmafxJob;
use vmafx_operator::rbac;
use vmafx_testkit::kube::account::{Grant, TestServiceAccount};
use vmafx_testkit::kube::proxy::ApiProxy;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, TestNamespace, install_crds};
use vmafx_testkit::wait;

use crate::SOON;
use crate::controller::{Controller, TOKEN};
use crate::operator::{Operator, Recipe};

const SYSTEM: &str = "vmafx-system";

/// Fields are dropped in order, so the operator stops first and the control plane last.
pub(crate) struct Harness {
    pub(crate) operator: Operator,
    pub(crate) controller: Controller,
    pub(crate) proxy: ApiProxy,
    pub(crate) namespace: TestNamespace,
    pub(crate) jobs: Api<VmafxJob>,
    recipe: Recipe,
    _directory: TempDir,
    pub(crate) plane: ControlPlane,
}

impl Harness {
    /// Starts everything and waits until the operator is ready.
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// The same with further settings of the operator.
    pub(crate) async fn with(settings: &[(&'static str, &str)]) -> Self {
        let plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
        install_crds(&plane.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        let account = account(&plane).await;
        let proxy = ApiProxy::start(&plane).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = directory.path().join("kubeconfig");
        account.write_kubeconfig(&kubeconfig, &proxy.url()).unwrap();
        let controller = Controller::start().await;
        let mut env = vec![
            ("VMAFX_CONTROLLER_HTTP_ADDR", controller.url()),
            ("VMAFX_CONTROLLER_GRPC_ADDR", controller.grpc.to_string()),
            ("VMAFX_CONTROLLER_TOKEN", TOKEN.to_owned()),
        ];
        env.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let recipe = Recipe {
            name: "operator".to_owned(),
            kubeconfig,
            namespace: SYSTEM.to_owned(),
            directory: directory.path().to_owned(),
            env,
        };
        let mut operator = Operator::start(&recipe);
        operator.ready().await;
        let namespace = plane.namespace("jobs").await.unwrap();
        let jobs = Api::namespaced(namespace.client(), namespace.name());
        Self { operator, controller, proxy, namespace, jobs, recipe, _directory: directory, plane }
    }

    /// Kills the operator, if it still runs, and starts it again.
    pub(crate) async fn restart_operator(&mut self) {
        self.operator.kill();
        self.operator = Operator::start(&self.recipe);
        self.operator.ready().await;
    }

    /// Starts a second operator.
    pub(crate) async fn another_operator(&self) -> Operator {
        let mut operator = Operator::start(&Recipe { name: "another".to_owned(), ..self.recipe.clone() });
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

    /// Waits until `holds`; the failure shows the last status.
    pub(crate) async fn until(&self, name: &str, what: &str, holds: impl Fn(&VmafxJob) -> bool) -> VmafxJob {
        let holds = Arc::new(holds);
        wait::until(SOON, what, || {
            let (jobs, holds) = (self.jobs.clone(), Arc::clone(&holds));
            async move {
                let job = jobs.get(name).await.map_err(|error| error.to_string())?;
                if holds(&job) { Ok(job) } else { Err(serde_json::to_string(&job.status).unwrap()) }
            }
        })
        .await
        .unwrap()
    }

    pub(crate) async fn until_phase(&self, name: &str, phase: &str) -> VmafxJob {
        self.until(name, &format!("{name} to be {phase}"), |job| self::phase(job) == phase).await
    }

    pub(crate) async fn until_reason(&self, name: &str, type_: &str, reason: &str) -> VmafxJob {
        let what = format!("{type_} of {name} to be {reason}");
        self.until(name, &what, |job| self::condition(job, type_).1 == reason).await
    }

    /// Waits until the controller has this many open jobs.
    pub(crate) async fn until_open(&self, count: usize) {
        wait::until(SOON, &format!("{count} open jobs"), || async {
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
        wait::until(SOON, &format!("{name} to be {least}"), || async {
            let now = self.operator.metric(name, labels).await?;
            if now >= least { Ok(()) } else { Err(now.to_string()) }
        })
        .await
        .unwrap();
    }

    /// Waits until these are the reasons of the events, in order of their time or sorted.
    pub(crate) async fn until_events(&self, expected: &[&str]) {
        wait::until(SOON, "events", || async {
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
        let events = Api::<Event>::namespaced(self.namespace.client(), self.namespace.name());
        let mut events = events.list(&ListParams::default()).await.unwrap().items;
        events.sort_by_key(|event| event.event_time.clone().map(|time| time.0));
        events.into_iter().filter_map(|event| event.reason).collect()
    }
}

async fn account(plane: &ControlPlane) -> TestServiceAccount {
    let metadata = ObjectMeta { name: Some(SYSTEM.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    Api::<Namespace>::all(plane.client().unwrap()).create(&PostParams::default(), &namespace).await.unwrap();
    let files = rbac::files();
    let role = files.iter().find(|file| file.name == "role.yaml").unwrap();
    let documents: Vec<_> = role.objects.iter().map(ToString::to_string).collect();
    let grants = Grant::from_yaml(&documents.join("\n---\n")).unwrap();
    TestServiceAccount::create(plane, SYSTEM, "vmafx-operator", &grants).await.unwrap()
}

pub(crate) fn phase(job: &VmafxJob) -> String {
    let phase = job.status.as_ref().and_then(|status| status.phase);
    phase.map(|phase| format!("{phase:?}")).unwrap_or_default()
}

/// Status and reason of a condition.
pub(crate) fn condition(job: &VmafxJob, type_: &str) -> (String, String) {
    let conditions = job.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let condition = conditions.iter().find(|one| one.type_ == type_);
    condition.map(|one| (format!("{:?}", one.status), one.reason.clone())).unwrap_or_default()
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
