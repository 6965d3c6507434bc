//! The whole loop: jobs are scored and labelled, a trainer learns from them, and a job is scored with what it learned.

use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vmafx_api::job::Phase;
use vmafx_api::training::TrainingPhase;
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxModelTrainingStatus};
use vmafx_testkit::wait;

use crate::images::{PAIRS, pair};
use crate::stage::{NAMESPACE, PATIENCE, REGISTRY, Stage, turn};

const NAME: &str = "house";

impl Stage {
    /// Makes a job about a pair of clips, for the queue.
    async fn queue(&self, name: &str, number: usize, spec: Value) {
        let [reference, distorted] = pair(number).map(|clip| format!("file://{clip}"));
        let mut whole = json!({
            "reference": reference, "distorted": distorted, "input": { "width": 160, "height": 90 },
            "model": "vmaf_v0.6.1",
        });
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let job = json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": name }, "spec": whole,
        });
        self.jobs.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap();
    }

    /// Waits until every job has a score.
    async fn until_scored(&self) -> Vec<VmafxJob> {
        let seen = async || {
            let jobs = self.jobs.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
            let left = jobs.iter().filter(|job| score(job).is_none()).count();
            if left == 0 { Ok(jobs) } else { Err(format!("{left} have none")) }
        };
        self.wait("all jobs to have a score", seen).await
    }

    /// Says of a job what viewers would.
    async fn label(&self, job: &VmafxJob, place: usize) {
        self.say(job, opinion(score(job).unwrap(), place)).await;
    }

    async fn say(&self, job: &VmafxJob, opinion: f64) {
        let patch = json!({ "spec": { "groundTruth": opinion } });
        self.jobs.patch(&job.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Waits until the run is as it should be.
    async fn until_run(
        &self,
        what: &str,
        holds: impl Fn(&VmafxModelTrainingStatus) -> bool,
    ) -> VmafxModelTrainingStatus {
        let seen = async || {
            let run: VmafxModelTraining =
                self.trainings.get(NAME).await.map_err(|error| error.to_string())?;
            let status = run.status.unwrap_or_default();
            if holds(&status) { Ok(status) } else { Err(serde_json::to_string(&status).unwrap()) }
        };
        self.wait(what, seen).await
    }

    async fn wait<T>(&self, what: &str, seen: impl AsyncFn() -> Result<T, String>) -> T {
        match wait::until(PATIENCE, what, || seen()).await {
            Ok(found) => found,
            Err(error) => panic!("{error}\n{}", self.explain().await),
        }
    }

    async fn pause(&self, paused: bool) {
        let patch = json!({ "spec": { "paused": paused } });
        self.trainings.patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn trainers(&self) -> usize {
        let labelled = ListParams::default().labels("vmafx.dev/workload=vmafx-trainer-house");
        self.pods.list(&labelled).await.unwrap().items.len()
    }

    /// What the registry has under a tag.
    async fn manifest(&self, tag: &str) -> Value {
        let path = format!(
            "/api/v1/namespaces/{NAMESPACE}/services/registry:5000/proxy/v2/video/models/manifests/{tag}"
        );
        let asked = http::Request::get(path).header("accept", "application/vnd.oci.image.manifest.v1+json");
        self.client.request(asked.body(Vec::new()).unwrap()).await.unwrap()
    }
}

fn score(job: &VmafxJob) -> Option<f64> {
    job.status.as_ref()?.score
}

/// What viewers of this house say: they are milder than the base model, and of many minds.
fn opinion(score: f64, place: usize) -> f64 {
    let mood = [0.0, 4.0, -3.0, 1.0, -4.0, 2.0, 3.0][place % 7];
    (30.0 + 0.6 * score + mood).clamp(0.0, 100.0)
}

fn holds(status: &VmafxModelTrainingStatus, type_: &str) -> bool {
    let condition = status.conditions.iter().find(|one| one.type_ == type_);
    condition.is_some_and(|one| one.status == vmafx_api::ConditionStatus::True)
}

#[tokio::test]
#[ignore = "needs root: run by make e2e"]
async fn a_model_learns_from_labelled_jobs_and_scores_the_next_one() {
    let Some(_turn) = turn().await else { return };
    let base = tempfile::tempdir().unwrap();
    let stage = Stage::set(base.path()).await;
    stage.registry(base.path()).await;
    let node = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": { "name": "pool", "labels": { "lab": "a" } },
        "spec": { "gpuVendor": "cpu", "capacity": 2 },
    });
    stage.nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
    let run = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": { "name": NAME },
        "spec": {
            "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema",
            "outputRegistry": format!("{REGISTRY}/video/models"),
            "dataSource": { "nodeSelector": { "gpu.vendor": "cpu", "lab": "a" } },
            "checkpoint": { "interval": "1s", "minSamples": 50 },
            "gate": { "maxSroccDrop": 0.1, "maxRmseRatio": 1 },
        },
    });
    stage.trainings.create(&PostParams::default(), &serde_json::from_value(run).unwrap()).await.unwrap();

    for number in 0..PAIRS {
        stage.queue(&format!("clip-{number}"), number, json!({})).await;
    }
    let jobs = stage.until_scored().await;
    stage.until_run("the trainer to learn", |run| run.phase == Some(TrainingPhase::Running)).await;

    // They had their score before anybody said a word.
    for (half, jobs) in jobs.chunks(PAIRS / 2).enumerate() {
        for (place, job) in jobs.iter().enumerate() {
            stage.label(job, place).await;
        }
        let expected = i32::try_from((half + 1) * PAIRS / 2).unwrap();
        let what = format!("{expected} samples");
        stage.until_run(&what, |run| run.current_samples == Some(expected)).await;
    }
    let learned = stage
        .until_run("a checkpoint of all that is stable", |run| {
            run.samples_pending.is_some_and(|pending| pending < 50)
                && run.stable_version.is_some()
                && run.stable_version == run.model_version
        })
        .await;
    assert!(holds(&learned, "CheckpointPushed") && holds(&learned, "GatePassed"), "{learned:?}");
    let metrics = learned.metrics.unwrap();
    assert!(metrics.rmse < metrics.base_rmse, "{metrics:?}");
    let events = stage.kubectl(&["get", "events", "--field-selector", "reason=CheckpointWritten"]);
    assert!(events.contains(NAME), "{events}");

    // The worst pair, with what was learned, is judged as people judge.
    let worst = jobs.iter().min_by(|a, b| score(a).partial_cmp(&score(b)).unwrap()).unwrap();
    let number: usize = worst.name_any().strip_prefix("clip-").unwrap().parse().unwrap();
    let stable = format!("oci://{REGISTRY}/video/models:{NAME}-stable");
    stage.queue("learned", number, json!({ "model": stable })).await;
    let status = stage.until_phase("learned", Phase::Succeeded).await;
    let model = status.model.unwrap();
    let (digest, manifest) = (learned.digest.unwrap(), stage.manifest(&format!("{NAME}-stable")).await);
    assert_eq!(model.name, format!("{stable}@{digest}"), "it says what to pin");
    let layers = manifest["layers"].as_array().unwrap();
    assert!(layers.iter().any(|layer| layer["digest"] == model.digest.as_deref().unwrap()), "{manifest}");
    let (before, after) = (score(worst).unwrap(), status.score.unwrap());
    let truth = opinion(before, 0);
    assert!((after - truth).abs() < (before - truth).abs(), "{before} became {after}, people say {truth}");

    let pinned = format!("oci://{REGISTRY}/video/models@{digest}");
    stage.queue("pinned", number, json!({ "model": pinned })).await;
    let again = stage.until_phase("pinned", Phase::Succeeded).await;
    assert_eq!((again.score, again.model.unwrap().digest), (Some(after), model.digest));

    stage.pause(true).await;
    stage.until_run("the run to be paused", |run| holds(run, "Paused")).await;
    assert_eq!(stage.trainers().await, 0);
    // Somebody changes their mind meanwhile.
    stage.say(worst, truth + 10.0).await;
    stage.pause(false).await;
    let expected = i32::try_from(PAIRS + 1).unwrap();
    let back = stage
        .until_run("it to go on where it was", |run| {
            run.phase == Some(TrainingPhase::Running) && run.current_samples == Some(expected)
        })
        .await;
    assert!(back.model_version >= learned.model_version, "{back:?}");

    stage.kubectl(&["delete", "vmtrain", NAME]);
    let gone = async || if stage.trainers().await == 0 { Ok(()) } else { Err("it is there".to_owned()) };
    stage.wait("the trainer to be gone", gone).await;
    assert_eq!(stage.manifest(&learned.model_version.unwrap()).await, manifest, "what was learned stays");
}
