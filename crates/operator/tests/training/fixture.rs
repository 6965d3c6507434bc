//! A namespace with a training run, an operator behind a proxy, and its trainer.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use vmafx_api::VmafxModelTraining;
use vmafx_api::training::TrainingPhase;
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::kube::TestNamespace;
use vmafx_testkit::kube::proxy::ApiProxy;
use vmafx_testkit::wait;

use crate::control_plane::{Exclusive, SharedControlPlane};
use crate::operator::{Operator, OperatorCommand};
use crate::resources::{self, TIMEOUT};
use crate::trainers::Trainers;

pub(crate) const RUN: &str = "m";
/// The StatefulSet and the Service of the run.
pub(crate) const WORKLOAD: &str = "vmafx-trainer-m";

const IMAGE: &str = "registry.test/vmafx-trainer:1";

const POLL_INTERVAL: &str = "250ms";

pub(crate) struct TrainingFixture {
    pub(crate) operator: Operator,
    pub(crate) proxy: ApiProxy,
    pub(crate) trainers: Trainers,
    pub(crate) namespace: TestNamespace,
    command: OperatorCommand,
    /// The controller, the operator's files, and the lock on the shared control plane, which is released last.
    _kept: (HttpServer, TempDir, Exclusive),
}

impl TrainingFixture {
    pub(crate) async fn new() -> Self {
        Self::with(Some(IMAGE), POLL_INTERVAL).await
    }

    /// With an operator that has no image for trainers.
    pub(crate) async fn without_image() -> Self {
        Self::with(None, POLL_INTERVAL).await
    }

    /// With an operator that polls the trainer only once during a test.
    pub(crate) async fn without_polls() -> Self {
        Self::with(Some(IMAGE), "1h").await
    }

    async fn with(image: Option<&str>, poll: &str) -> Self {
        let exclusive = SharedControlPlane::exclusive().await;
        let SharedControlPlane { control_plane, account } = SharedControlPlane::shared();
        let namespace = control_plane.namespace("training").await.unwrap();
        let proxy = ApiProxy::start(control_plane).await.unwrap();
        let (trainers, controller) = (Trainers::start(), HttpServer::start(|_| Reply::file(b"ok")));
        let directory = tempfile::tempdir().unwrap();
        let mut env = vec![
            ("VMAFX_CONTROLLER_HTTP_ADDR", controller.url("")),
            ("VMAFX_OPERATOR_TRAINER_URL", trainers.url()),
            ("VMAFX_OPERATOR_TRAINER_POLL", poll.to_owned()),
            // Templates may name ServiceAccounts and Secrets.
            ("VMAFX_OPERATOR_POD_TEMPLATES", "any".to_owned()),
        ];
        env.extend(image.map(|image| ("VMAFX_OPERATOR_TRAINER_IMAGE", image.to_owned())));
        let command = OperatorCommand::new(directory.path(), account, &proxy, env);
        let mut operator = Operator::start(&command);
        operator.ready().await;
        let kept = (controller, directory, exclusive);
        Self { operator, proxy, trainers, namespace, command, _kept: kept }
    }

    /// Waits until the operator has stopped and starts it again.
    pub(crate) async fn restart(&mut self) {
        self.operator.ended().await;
        self.operator = Operator::start(&self.command);
        self.operator.ready().await;
    }

    pub(crate) fn all<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.namespace.client(), self.namespace.name())
    }

    pub(crate) async fn create(&self) -> VmafxModelTraining {
        create(&self.all(), RUN).await
    }

    /// Creates the run with a trainer that learns already.
    pub(crate) async fn running(&self) -> VmafxModelTraining {
        self.set_report(json!({ "phase": "running", "current_samples": 10 }));
        self.create().await;
        self.until_phase(TrainingPhase::Running).await
    }

    pub(crate) async fn change(&self, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.all::<VmafxModelTraining>().patch(RUN, &PatchParams::default(), &patch).await.unwrap();
    }

    #[expect(clippy::needless_pass_by_value, reason = "reports are written where they are used")]
    pub(crate) fn set_report(&self, status: Value) {
        self.trainers.set_report(self.namespace.name(), RUN, &status);
    }

    pub(crate) fn poll_count(&self) -> usize {
        self.trainers.poll_count(self.namespace.name(), RUN)
    }

    /// Waits until the trainer was polled this many times more.
    pub(crate) async fn wait_for_polls(&self, times: usize) {
        let before = self.poll_count();
        wait::until(TIMEOUT, "polls of the trainer", async || self.poll_count() >= before + times)
            .await
            .unwrap();
    }

    pub(crate) async fn until(
        &self,
        what: &str,
        holds: impl Fn(&VmafxModelTraining) -> bool,
    ) -> VmafxModelTraining {
        resources::until(&self.all(), RUN, what, holds).await
    }

    pub(crate) async fn until_phase(&self, phase: TrainingPhase) -> VmafxModelTraining {
        self.until(&format!("{phase:?}"), |run| {
            run.status.as_ref().and_then(|status| status.phase) == Some(phase)
        })
        .await
    }

    pub(crate) async fn until_reason(&self, type_: &str, reason: &str) -> VmafxModelTraining {
        self.until(&format!("{type_} to be {reason}"), |run| resources::reason(run, type_) == reason).await
    }

    /// Waits until a StatefulSet other than this one is live and tracked, and returns its UID.
    pub(crate) async fn tracked_other_than(&self, uid: &str) -> String {
        let run = self.until("another StatefulSet", |run| tracked(run).is_some_and(|tracked| tracked != uid));
        let tracked = tracked(&run.await);
        assert_eq!(tracked, self.all::<StatefulSet>().get(WORKLOAD).await.unwrap().uid());
        tracked.unwrap()
    }

    /// Reason and note of the operator's events about the run so far, oldest first.
    pub(crate) async fn events(&self) -> Vec<(String, String)> {
        let events = resources::events(&self.namespace).await;
        let parts = |event: Event| (event.reason.unwrap_or_default(), event.note.unwrap_or_default());
        events.into_iter().map(parts).collect()
    }

    /// The notes of the events with this reason.
    pub(crate) async fn notes(&self, reason: &str) -> Vec<String> {
        let events = self.events().await.into_iter();
        events.filter(|(one, _)| one == reason).map(|(_, note)| note).collect()
    }

    /// Waits until there is an event with this reason, and returns the notes of all such events.
    pub(crate) async fn until_event(&self, reason: &str) -> Vec<String> {
        wait::until(TIMEOUT, &format!("the event {reason}"), async || {
            let notes = self.notes(reason).await;
            if notes.is_empty() { Err(format!("{:?}", self.events().await)) } else { Ok(notes) }
        })
        .await
        .unwrap()
    }
}

pub(crate) async fn create(runs: &Api<VmafxModelTraining>, name: &str) -> VmafxModelTraining {
    let run = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": { "name": name },
        "spec": { "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema", "outputRegistry": "registry.test/m" },
    });
    runs.create(&PostParams::default(), &serde_json::from_value(run).unwrap()).await.unwrap()
}

pub(crate) fn tracked(run: &VmafxModelTraining) -> Option<String> {
    run.status.as_ref()?.stateful_set.as_ref().map(|set| set.uid.clone())
}

pub(crate) fn samples(run: &VmafxModelTraining) -> Option<i32> {
    run.status.as_ref()?.current_samples
}
