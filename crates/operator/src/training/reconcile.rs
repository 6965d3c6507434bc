//! One pass over a training run: sync, ask, tell of a checkpoint, and write the status if it changed.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::jiff::Timestamp;
use kube::{Client, ResourceExt as _};
use vmafx_api::conditions::Reason;
use vmafx_api::{VmafxModelTraining, VmafxModelTrainingStatus};

use super::Seen;
use super::checkpoint;
use super::poll::{Answer, Poller, Report};
use super::render::{Defaults, render};
use super::status::{Found, happenings, status};
use crate::error::ApiError;
use crate::events::Recorder;
use crate::key::ObjectKey;
use crate::render::TRAINER;
use crate::runtime::{Cache, Failure, Kind, Next, Reconcile};
use crate::status::update;
use crate::workload::{self, Children, Made, Workers, Workloads};

/// When to look again at a run that could not be made as it should be.
const AGAIN: Duration = Duration::from_secs(30);

/// Reconciles training runs.
pub struct TrainingReconciler {
    /// The way to the API server.
    pub client: Client,
    /// What is known of them.
    pub trainings: Cache<Seen>,
    /// Their StatefulSets.
    pub workloads: Workloads,
    /// Their Services.
    pub services: Children<Service>,
    /// Asks their trainers.
    pub poller: Poller,
    /// Tells people.
    pub recorder: Recorder,
    /// What trainers are made from.
    pub defaults: Defaults,
}

impl Reconcile for TrainingReconciler {
    const KIND: Kind = Kind::Training;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Option<Next>, Failure> {
        let Some(seen) = self.trainings.get(key) else {
            self.forget(key);
            return Ok(None);
        };
        let training = &seen.0;
        if training.metadata.deletion_timestamp.is_some() {
            // What belongs to it goes by its owner references.
            return Ok(None);
        }
        let made = self.sync(training).await?;
        let workers = made.live.as_deref().map(Workers::from);
        let (answer, good_for) = self.ask(training, &made, workers.as_ref()).await.unzip();
        let found = Found { tracked: made.tracked, synced: made.synced, workers, answer };
        let (after, untold) = self.told(training, found).await;
        let before = training.status.as_ref();
        if !update(&self.client, &self.trainings, training, before, &after).await? {
            return Ok(None);
        }
        for happening in made.happening.into_iter().chain(happenings(before, &after)) {
            self.recorder.tell(training, &happening).await;
        }
        // After its first status the trainer is asked.
        let asks_next = before.is_none().then_some(Duration::ZERO);
        let again = good_for.or(asks_next).map_or(made.again, |again| made.again.min(again));
        made.failure.or(untold.map(Failure::from)).map_or(Ok(Some(Next(again))), Err)
    }
}

impl TrainingReconciler {
    fn forget(&self, key: &ObjectKey) {
        let made = |name| ObjectKey::new(key.namespace.clone(), name);
        self.workloads.forget(&made(TRAINER.workload(&key.name)));
        self.services.forget(&made(TRAINER.service(&key.name)));
        self.poller.forget(key);
    }

    /// Makes Service and StatefulSet as they should be.
    async fn sync(&self, training: &VmafxModelTraining) -> Result<Made, Failure> {
        match self.make(training).await {
            Ok(made) => Ok(made),
            Err(failure) => {
                let name = TRAINER.workload(&training.name_any());
                let set = ObjectKey::new(training.namespace().unwrap_or_default(), name);
                Made::failed(failure, training, self.workloads.known(&set), AGAIN)
            }
        }
    }

    async fn make(&self, training: &VmafxModelTraining) -> Result<Made, Failure> {
        let wanted = render(training, &self.defaults).map_err(Failure::invalid)?;
        let seen = workload::Seen::of(training);
        let beside = [self.services.ensure(&seen.owner, &wanted.service).await?];
        let fresh = || workload::Seen::fresh::<VmafxModelTraining>(&self.client, &seen.owner.key);
        let synced = self.workloads.sync(&seen, &wanted.stateful_set, fresh).await?;
        Ok(Made::of(synced, beside))
    }

    /// What the trainer says, and how long that is good; nothing if there is none of ours. A run without a status is
    /// given one first: its trainer cannot be there yet, and waiting for it would keep people from seeing anything.
    async fn ask(
        &self,
        training: &VmafxModelTraining,
        made: &Made,
        workers: Option<&Workers>,
    ) -> Option<(Arc<Answer>, Duration)> {
        let key = ObjectKey::of(training);
        let ours = made.live.as_deref().filter(|live| made.tracked.as_ref() == Some(&live.reference()));
        let foreign = made.synced.reason == Reason::ForeignOwner;
        let gone = training.spec.paused && workers.is_none_or(|workers| !workers.remain());
        if gone {
            self.poller.forget(&key);
        }
        let live = ours.filter(|_| training.status.is_some() && !foreign && !gone)?;
        let whom = format!("{}/{}", training.uid().unwrap_or_default(), live.identity.uid);
        Some(self.poller.ask(&key, &whom).await)
    }

    /// The status, after people were told of the checkpoint that it records. If they could not be, it records none, and
    /// the pass ends with why.
    async fn told(
        &self,
        training: &VmafxModelTraining,
        found: Found,
    ) -> (VmafxModelTrainingStatus, Option<ApiError>) {
        let now = Timestamp::now();
        let after = status(training, &found, now);
        let uid = training.uid().unwrap_or_default();
        let Some((id, happening)) = checkpoint::written(&uid, training.status.as_ref(), &after) else {
            return (after, None);
        };
        let Err(error) = self.recorder.tell_once(training, &happening, id).await else {
            return (after, None);
        };
        let silent =
            |answer: &Answer| Arc::new(answer.as_ref().map_err(Clone::clone).map(Report::without_checkpoint));
        let answer = found.answer.as_deref().map(silent);
        (status(training, &Found { answer, ..found }, now), Some(error))
    }
}
