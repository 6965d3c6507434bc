//! A namespace with a training run, an operator behind a proxy, and its trainer.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use vmafx_api::training::TrainingPhase;
use vmafx_api::{Condition, VmafxModelTraining};
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::kube::TestNamespace;
use vmafx_testkit::kube::proxy::ApiProxy;
use vmafx_testkit::wait;

use crate::SOON;
use crate::operator::{Operator, Recipe};
use crate::plane::{Exclusive, Plane, SYSTEM};
use crate::trainers::Trainers;

/// The run of every test, and what is made for it.
pub(crate) const RUN: &str = "m";
pub(crate) const MADE: &str = "vmafx-trainer-m";

/// The image of trainers.
const IMAGE: &str = "registry.test/vmafx-trainer:1";

/// Between two questions to a trainer.
const POLL: &str = "250ms";

/// What a test works with.
pub(crate) struct World {
    pub(crate) operator: Operator,
    pub(crate) proxy: ApiProxy,
    pub(crate) trainers: Trainers,
    pub(crate) namespace: TestNamespace,
    recipe: Recipe,
    /// The controller, the operator's files, and the turn, for which others wait and which is let go of last.
    _kept: (HttpServer, TempDir, Exclusive),
}

impl World {
    pub(crate) async fn set() -> Self {
        Self::with(Some(IMAGE), POLL).await
    }

    /// With an operator that has no image for trainers.
    pub(crate) async fn without_image() -> Self {
        Self::with(None, POLL).await
    }

    /// With an operator that asks a trainer once in this test, so that nothing is done by the clock.
    pub(crate) async fn without_polls() -> Self {
        Self::with(Some(IMAGE), "1h").await
    }

    async fn with(image: Option<&str>, poll: &str) -> Self {
        let exclusive = Plane::exclusive().await;
        let Plane { control_plane, account } = Plane::shared();
        let namespace = control_plane.namespace("training").await.unwrap();
        let proxy = ApiProxy::start(control_plane).await.unwrap();
        let (trainers, controller) = (Trainers::start(), HttpServer::start(|_| Reply::file(b"ok")));
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = directory.path().join("kubeconfig");
        account.write_kubeconfig(&kubeconfig, &proxy.url()).unwrap();
        let mut env = vec![
            ("VMAFX_CONTROLLER_HTTP_ADDR", controller.url("")),
            ("VMAFX_OPERATOR_TRAINER_URL", trainers.url()),
            ("VMAFX_OPERATOR_TRAINER_POLL", poll.to_owned()),
        ];
        env.extend(image.map(|image| ("VMAFX_OPERATOR_TRAINER_IMAGE", image.to_owned())));
        let recipe = Recipe {
            name: "operator".to_owned(),
            kubeconfig,
            namespace: SYSTEM.to_owned(),
            directory: directory.path().to_owned(),
            env,
        };
        let mut operator = Operator::start(&recipe);
        operator.ready().await;
        let kept = (controller, directory, exclusive);
        Self { operator, proxy, trainers, namespace, recipe, _kept: kept }
    }

    /// Starts the operator again after its end.
    pub(crate) async fn restart(&mut self) {
        self.operator.ended().await;
        self.operator = Operator::start(&self.recipe);
        self.operator.ready().await;
    }

    pub(crate) fn all<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.namespace.client(), self.namespace.name())
    }

    /// Makes the run.
    pub(crate) async fn create(&self) -> VmafxModelTraining {
        create(&self.all(), RUN).await
    }

    /// Makes the run, whose trainer learns already.
    pub(crate) async fn running(&self) -> VmafxModelTraining {
        self.says(json!({ "phase": "running", "current_samples": 10 }));
        self.create().await;
        self.until_phase(TrainingPhase::Running).await
    }

    pub(crate) async fn change(&self, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.all::<VmafxModelTraining>().patch(RUN, &PatchParams::default(), &patch).await.unwrap();
    }

    #[expect(clippy::needless_pass_by_value, reason = "answers are written where they are used")]
    pub(crate) fn says(&self, status: Value) {
        self.trainers.say(self.namespace.name(), RUN, &status);
    }

    pub(crate) fn asked(&self) -> usize {
        self.trainers.asked(self.namespace.name(), RUN)
    }

    /// Waits for so many more questions to the trainer.
    pub(crate) async fn asked_more(&self, times: usize) {
        let before = self.asked();
        wait::until(SOON, "questions to the trainer", async || self.asked() >= before + times).await.unwrap();
    }

    /// Waits until the run is as it should be; what it was instead is in the failure.
    pub(crate) async fn until(
        &self,
        what: &str,
        holds: impl Fn(&VmafxModelTraining) -> bool,
    ) -> VmafxModelTraining {
        until(&self.all(), RUN, what, holds).await
    }

    pub(crate) async fn until_phase(&self, phase: TrainingPhase) -> VmafxModelTraining {
        self.until(&format!("{phase:?}"), |run| {
            run.status.as_ref().and_then(|status| status.phase) == Some(phase)
        })
        .await
    }

    pub(crate) async fn until_reason(&self, type_: &str, reason: &str) -> VmafxModelTraining {
        self.until(&format!("{type_} to be {reason}"), |run| self::reason(run, type_) == reason).await
    }

    /// Waits until the StatefulSet that is there is the one that is tracked, and is not this one.
    pub(crate) async fn tracked_other_than(&self, uid: &str) -> String {
        let run = self.until("another StatefulSet", |run| tracked(run).is_some_and(|tracked| tracked != uid));
        let tracked = tracked(&run.await);
        assert_eq!(tracked, self.all::<StatefulSet>().get(MADE).await.unwrap().uid());
        tracked.unwrap()
    }

    /// Reason and note of all events of the operator about the run so far, in order of their time.
    pub(crate) async fn events(&self) -> Vec<(String, String)> {
        let mut events = self.all::<Event>().list(&ListParams::default()).await.unwrap().items;
        events.retain(|event| event.reporting_controller.as_deref() == Some("vmafx.dev/vmafx-operator"));
        events.sort_by_key(|event| event.event_time.clone().map(|time| time.0));
        let said = |event: Event| (event.reason.unwrap_or_default(), event.note.unwrap_or_default());
        events.into_iter().map(said).collect()
    }

    /// The notes of those with a reason.
    pub(crate) async fn notes(&self, reason: &str) -> Vec<String> {
        let events = self.events().await.into_iter();
        events.filter(|(one, _)| one == reason).map(|(_, note)| note).collect()
    }

    /// Waits until there is an event.
    pub(crate) async fn until_event(&self, reason: &str) -> Vec<String> {
        wait::until(SOON, &format!("the event {reason}"), async || {
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

pub(crate) async fn until(
    runs: &Api<VmafxModelTraining>,
    name: &str,
    what: &str,
    holds: impl Fn(&VmafxModelTraining) -> bool,
) -> VmafxModelTraining {
    let holds = Arc::new(holds);
    wait::until(SOON, what, || {
        let (runs, holds) = (runs.clone(), Arc::clone(&holds));
        async move {
            let run = runs.get(name).await.map_err(|error| error.to_string())?;
            if holds(&run) { Ok(run) } else { Err(serde_json::to_string(&run.status).unwrap()) }
        }
    })
    .await
    .unwrap()
}

pub(crate) fn tracked(run: &VmafxModelTraining) -> Option<String> {
    run.status.as_ref()?.stateful_set.as_ref().map(|set| set.uid.clone())
}

pub(crate) fn samples(run: &VmafxModelTraining) -> Option<i32> {
    run.status.as_ref()?.current_samples
}

fn condition<'a>(run: &'a VmafxModelTraining, type_: &str) -> Option<&'a Condition> {
    run.status.as_ref()?.conditions.iter().find(|one| one.type_ == type_)
}

pub(crate) fn reason(run: &VmafxModelTraining, type_: &str) -> String {
    condition(run, type_).map(|one| one.reason.clone()).unwrap_or_default()
}

pub(crate) fn message(run: &VmafxModelTraining, type_: &str) -> String {
    condition(run, type_).map(|one| one.message.clone()).unwrap_or_default()
}
