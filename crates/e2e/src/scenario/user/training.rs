//! The whole loop: jobs are scored and labelled, a trainer learns from them, and a job is scored with what it learned.

use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::{Value, json};
use vmafx_api::job::Phase;
use vmafx_api::training::TrainingPhase;
use vmafx_api::{ConditionStatus, VmafxJob, VmafxModelTrainingStatus};
use vmafx_testkit::wait;

use super::stage::{RELEASE, Stage, same};
use crate::clips::Clips;
use crate::platform::PATIENCE;
use crate::steps::Steps;

const NAME: &str = "house";
const TRAINER: &str = "vmafx.dev/workload=vmafx-trainer-house";
const REPOSITORY: &str = "video/models";
/// Samples before a checkpoint.
const FEW: i32 = 50;

pub(super) async fn learn(stage: &Stage<'_>, steps: &mut Steps) -> Result<()> {
    steps.step("start a training run", start(stage)).await?;
    let jobs = steps.step("200 jobs are scored", scored(stage)).await?;
    let learned = steps.step("label them, and see a stable checkpoint", labelled(stage, &jobs)).await?;
    steps.step("a job is scored with what was learned", used(stage, &jobs, &learned)).await?;
    steps.step("pause the run, resume it, delete it", ended(stage, &jobs, &learned)).await
}

async fn start(stage: &Stage<'_>) -> Result<()> {
    let run = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": { "name": NAME },
        "spec": {
            "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema",
            "outputRegistry": format!("{}/{REPOSITORY}", stage.outside.registry()),
            "dataSource": { "nodeSelector": { "gpu.vendor": "cpu", "lab": "a" } },
            "checkpoint": { "interval": "1s", "minSamples": FEW },
            "gate": { "maxSroccDrop": 0.1, "maxRmseRatio": 1 },
            "podTemplate": { "spec": {
                "serviceAccountName": format!("{RELEASE}-worker"),
                "containers": [{ "name": "trainer", "resources": { "requests": { "cpu": "50m" } } }],
            } },
        },
    });
    stage.kubectl.apply(&run.to_string()).await?;
    until(stage, "the trainer to learn", |run| run.phase == Some(TrainingPhase::Running)).await.map(drop)
}

/// They have their score before anybody says a word.
async fn scored(stage: &Stage<'_>) -> Result<Vec<VmafxJob>> {
    for number in 0..Clips::PAIRS {
        let [reference, distorted] = Clips::pair(number);
        stage.score(&format!("clip-{number}"), [&reference, &distorted], json!({})).await?;
    }
    let seen = async || {
        let mut jobs =
            stage.jobs.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
        jobs.retain(|job| number(job).is_some());
        let left = jobs.iter().filter(|job| score(job).is_none()).count();
        if left == 0 && jobs.len() == Clips::PAIRS { Ok(jobs) } else { Err(format!("{left} have none")) }
    };
    Ok(wait::until(PATIENCE, "all jobs to have a score", seen).await?)
}

async fn labelled(stage: &Stage<'_>, jobs: &[VmafxJob]) -> Result<VmafxModelTrainingStatus> {
    for (half, some) in jobs.chunks(Clips::PAIRS / 2).enumerate() {
        for (place, job) in some.iter().enumerate() {
            say(stage, job, opinion(score(job).unwrap_or_default(), place)).await?;
        }
        let expected = i32::try_from((half + 1) * Clips::PAIRS / 2)?;
        until(stage, &format!("{expected} samples"), |run| run.current_samples == Some(expected)).await?;
    }
    let learned = until(stage, "a checkpoint of all that is stable", |run| {
        run.samples_pending.is_some_and(|pending| pending < FEW)
            && run.stable_version.is_some()
            && run.stable_version == run.model_version
    })
    .await?;
    ensure!(holds(&learned, "CheckpointPushed") && holds(&learned, "GatePassed"), "{learned:?}");
    let metrics = learned.metrics.as_ref().context("no metrics")?;
    ensure!(metrics.rmse < metrics.base_rmse, "{metrics:?}");
    let events =
        stage.kubectl.run(&["get", "events", "--field-selector", "reason=CheckpointWritten"]).await?;
    ensure!(events.contains(NAME), "no event: {events}");
    Ok(learned)
}

/// The worst pair is judged as people judge.
async fn used(stage: &Stage<'_>, jobs: &[VmafxJob], learned: &VmafxModelTrainingStatus) -> Result<()> {
    let worst = worst(jobs)?;
    let clips = Clips::pair(number(worst).unwrap_or_default());
    let clips = [clips[0].as_str(), clips[1].as_str()];
    let models = format!("oci://{}/{REPOSITORY}", stage.outside.registry());
    let stable = format!("{models}:{NAME}-stable");
    stage.score("learned", clips, json!({ "model": stable })).await?;
    let status = stage.until_phase("learned", Phase::Succeeded).await?;
    let model = status.model.context("no model")?;
    let digest = learned.digest.as_ref().context("no digest")?;
    same("what to pin", &model.name, &format!("{stable}@{digest}"))?;
    let manifest = manifest(stage, &format!("{NAME}-stable")).await?;
    let layers = manifest["layers"].as_array().context("no layers")?;
    let there = layers.iter().any(|layer| layer["digest"].as_str() == model.digest.as_deref());
    ensure!(there, "{:?} is not in {manifest}", model.digest);
    let (before, after) = (score(worst).context("no score")?, status.score.context("no score")?);
    let truth = opinion(before, 0);
    ensure!((after - truth).abs() < (before - truth).abs(), "{before} became {after}, people say {truth}");

    stage.score("pinned", clips, json!({ "model": format!("{models}@{digest}") })).await?;
    let again = stage.until_phase("pinned", Phase::Succeeded).await?;
    let again = (again.score, again.model.and_then(|model| model.digest));
    same("by digest: score and model", again, (Some(after), model.digest))
}

/// Somebody changes their mind while it is paused; what was learned outlives the run.
async fn ended(stage: &Stage<'_>, jobs: &[VmafxJob], learned: &VmafxModelTrainingStatus) -> Result<()> {
    let before = manifest(stage, &format!("{NAME}-stable")).await?;
    stage.change(&stage.trainings, NAME, json!({ "paused": true })).await?;
    until(stage, "the run to be paused", |run| holds(run, "Paused")).await?;
    stage.until_no_pods_with(TRAINER).await?;
    let worst = worst(jobs)?;
    say(stage, worst, opinion(score(worst).unwrap_or_default(), 0) + 10.0).await?;
    stage.change(&stage.trainings, NAME, json!({ "paused": false })).await?;
    let expected = i32::try_from(Clips::PAIRS + 1)?;
    let back = until(stage, "it to go on where it was", |run| {
        run.phase == Some(TrainingPhase::Running) && run.current_samples == Some(expected)
    })
    .await?;
    ensure!(back.model_version >= learned.model_version, "{back:?}");
    stage.kubectl.run(&["delete", "vmtrain", NAME]).await?;
    stage.until_no_pods_with(TRAINER).await?;
    let version = learned.model_version.as_ref().context("no version")?;
    same("what was learned", manifest(stage, version).await?, before)
}

async fn until(
    stage: &Stage<'_>,
    what: &str,
    holds: impl Fn(&VmafxModelTrainingStatus) -> bool,
) -> Result<VmafxModelTrainingStatus> {
    let seen = async || {
        let run = stage.trainings.get(NAME).await.map_err(|error| error.to_string())?;
        let status = run.status.unwrap_or_default();
        if holds(&status) { Ok(status) } else { Err(serde_json::to_string(&status).unwrap_or_default()) }
    };
    Ok(wait::until(PATIENCE, what, seen).await?)
}

async fn say(stage: &Stage<'_>, job: &VmafxJob, opinion: f64) -> Result<()> {
    stage.change(&stage.jobs, &job.name_any(), json!({ "groundTruth": opinion })).await
}

/// What the registry has under a tag.
async fn manifest(stage: &Stage<'_>, tag: &str) -> Result<Value> {
    let url = format!("http://{}/v2/{REPOSITORY}/manifests/{tag}", stage.outside.registry_here());
    let asked = reqwest::Client::new().get(url).timeout(PATIENCE);
    let answer = asked.header("accept", "application/vnd.oci.image.manifest.v1+json").send().await?;
    Ok(serde_json::from_slice(&answer.error_for_status()?.bytes().await?)?)
}

fn score(job: &VmafxJob) -> Option<f64> {
    job.status.as_ref()?.score
}

/// Which pair a job is about.
fn number(job: &VmafxJob) -> Option<usize> {
    job.name_any().strip_prefix("clip-")?.parse().ok()
}

fn worst(jobs: &[VmafxJob]) -> Result<&VmafxJob> {
    let by_score =
        |a: &&VmafxJob, b: &&VmafxJob| score(a).unwrap_or(100.0).total_cmp(&score(b).unwrap_or(100.0));
    jobs.iter().min_by(by_score).context("no jobs")
}

/// What viewers of this house say: they are milder than the base model, and of many minds.
fn opinion(score: f64, place: usize) -> f64 {
    let mood = [0.0, 4.0, -3.0, 1.0, -4.0, 2.0, 3.0][place % 7];
    (30.0 + 0.6 * score + mood).clamp(0.0, 100.0)
}

fn holds(status: &VmafxModelTrainingStatus, type_: &str) -> bool {
    status.conditions.iter().any(|one| one.type_ == type_ && one.status == ConditionStatus::True)
}
