//! The training loop: jobs are scored and labelled, a trainer learns from them, and a job is scored with the new model.

use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::{Value, json};
use vmafx_api::job::Phase;
use vmafx_api::training::TrainingPhase;
use vmafx_api::{ConditionStatus, VmafxJob, VmafxModelTrainingStatus};
use vmafx_testkit::wait;

use super::fixture::{UserFixture, expect_eq};
use crate::clips::Clips;
use crate::platform::STEP_TIMEOUT;
use crate::steps::Steps;

const NAME: &str = "house";
const TRAINER: &str = "vmafx.dev/workload=vmafx-trainer-house";
const REPOSITORY: &str = "video/models";
/// `minSamples` of the training: samples before a checkpoint.
const MIN_SAMPLES: i32 = 50;

pub(super) async fn run(fixture: &UserFixture<'_>, steps: &mut Steps) -> Result<()> {
    steps.step("start a training run", start(fixture)).await?;
    let jobs = steps.step("200 jobs are scored", score_all(fixture)).await?;
    let learned =
        steps.step("label them, and wait for a stable checkpoint", label_all(fixture, &jobs)).await?;
    steps
        .step("a job is scored with the learned model", score_with_learned(fixture, &jobs, &learned))
        .await?;
    steps.step("pause the run, resume it, delete it", pause_resume_delete(fixture, &jobs, &learned)).await
}

async fn start(fixture: &UserFixture<'_>) -> Result<()> {
    let run = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": { "name": NAME },
        "spec": {
            "baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema",
            "outputRegistry": format!("{}/{REPOSITORY}", fixture.external.registry()),
            "dataSource": { "nodeSelector": { "gpu.vendor": "cpu", "lab": "a" } },
            "checkpoint": { "interval": "1s", "minSamples": MIN_SAMPLES },
            "gate": { "maxSroccDrop": 0.1, "maxRmseRatio": 1 },
            "podTemplate": { "spec": {
                "containers": [{ "name": "trainer", "resources": { "requests": { "cpu": "50m" } } }],
            } },
        },
    });
    fixture.kubectl.apply(&run.to_string()).await?;
    until(fixture, "the trainer to run", |run| run.phase == Some(TrainingPhase::Running)).await.map(drop)
}

/// All jobs are scored before the first one is labelled.
async fn score_all(fixture: &UserFixture<'_>) -> Result<Vec<VmafxJob>> {
    for number in 0..Clips::PAIRS {
        let [reference, distorted] = Clips::pair(number);
        fixture.submit_pair(&format!("clip-{number}"), [&reference, &distorted], json!({})).await?;
    }
    let ready = async || {
        let mut jobs =
            fixture.jobs.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
        jobs.retain(|job| number(job).is_some());
        let left = jobs.iter().filter(|job| score(job).is_none()).count();
        if left == 0 && jobs.len() == Clips::PAIRS { Ok(jobs) } else { Err(format!("{left} have none")) }
    };
    Ok(wait::until(STEP_TIMEOUT, "all jobs to have a score", ready).await?)
}

async fn label_all(fixture: &UserFixture<'_>, jobs: &[VmafxJob]) -> Result<VmafxModelTrainingStatus> {
    for (half, some) in jobs.chunks(Clips::PAIRS / 2).enumerate() {
        for (index, job) in some.iter().enumerate() {
            label(fixture, job, opinion_score(score(job).unwrap_or_default(), index)).await?;
        }
        let expected = i32::try_from((half + 1) * Clips::PAIRS / 2)?;
        until(fixture, &format!("{expected} samples"), |run| run.current_samples == Some(expected)).await?;
    }
    let learned = until(fixture, "a stable checkpoint of all samples", |run| {
        run.samples_pending.is_some_and(|pending| pending < MIN_SAMPLES)
            && run.stable_version.is_some()
            && run.stable_version == run.model_version
    })
    .await?;
    ensure!(is_true(&learned, "CheckpointPushed") && is_true(&learned, "GatePassed"), "{learned:?}");
    let metrics = learned.metrics.as_ref().context("no metrics")?;
    ensure!(metrics.rmse < metrics.base_rmse, "{metrics:?}");
    let events =
        fixture.kubectl.run(&["get", "events", "--field-selector", "reason=CheckpointWritten"]).await?;
    ensure!(events.contains(NAME), "no event: {events}");
    Ok(learned)
}

/// With the learned model, the score of the worst pair is closer to the opinion of viewers.
async fn score_with_learned(
    fixture: &UserFixture<'_>,
    jobs: &[VmafxJob],
    learned: &VmafxModelTrainingStatus,
) -> Result<()> {
    let worst = worst(jobs)?;
    let clips = Clips::pair(number(worst).unwrap_or_default());
    let clips = [clips[0].as_str(), clips[1].as_str()];
    let models = format!("oci://{}/{REPOSITORY}", fixture.external.registry());
    let stable = format!("{models}:{NAME}-stable");
    fixture.submit_pair("learned", clips, json!({ "model": stable })).await?;
    let status = fixture.until_phase("learned", Phase::Succeeded).await?;
    let model = status.model.context("no model")?;
    let digest = learned.digest.as_ref().context("no digest")?;
    expect_eq("the model with its digest", &model.name, &format!("{stable}@{digest}"))?;
    let manifest = manifest(fixture, &format!("{NAME}-stable")).await?;
    let layers = manifest["layers"].as_array().context("no layers")?;
    let there = layers.iter().any(|layer| layer["digest"].as_str() == model.digest.as_deref());
    ensure!(there, "{:?} is not in {manifest}", model.digest);
    let (before, after) = (score(worst).context("no score")?, status.score.context("no score")?);
    let truth = opinion_score(before, 0);
    ensure!(
        (after - truth).abs() < (before - truth).abs(),
        "{before} became {after}, the opinion score is {truth}"
    );

    fixture.submit_pair("pinned", clips, json!({ "model": format!("{models}@{digest}") })).await?;
    let again = fixture.until_phase("pinned", Phase::Succeeded).await?;
    let again = (again.score, again.model.and_then(|model| model.digest));
    expect_eq("score and model by digest", again, (Some(after), model.digest))
}

/// A label changes while the run is paused; checkpoints survive the deletion of the run.
async fn pause_resume_delete(
    fixture: &UserFixture<'_>,
    jobs: &[VmafxJob],
    learned: &VmafxModelTrainingStatus,
) -> Result<()> {
    let before = manifest(fixture, &format!("{NAME}-stable")).await?;
    fixture.patch_spec(&fixture.trainings, NAME, json!({ "paused": true })).await?;
    until(fixture, "the run to be paused", |run| is_true(run, "Paused")).await?;
    fixture.until_no_pods_with(TRAINER).await?;
    let worst = worst(jobs)?;
    label(fixture, worst, opinion_score(score(worst).unwrap_or_default(), 0) + 10.0).await?;
    fixture.patch_spec(&fixture.trainings, NAME, json!({ "paused": false })).await?;
    let expected = i32::try_from(Clips::PAIRS + 1)?;
    let back = until(fixture, "the run to resume with all samples", |run| {
        run.phase == Some(TrainingPhase::Running) && run.current_samples == Some(expected)
    })
    .await?;
    ensure!(back.model_version >= learned.model_version, "{back:?}");
    fixture.kubectl.run(&["delete", "vmtrain", NAME]).await?;
    fixture.until_no_pods_with(TRAINER).await?;
    let version = learned.model_version.as_ref().context("no version")?;
    expect_eq("the checkpoint", manifest(fixture, version).await?, before)
}

async fn until(
    fixture: &UserFixture<'_>,
    what: &str,
    condition: impl Fn(&VmafxModelTrainingStatus) -> bool,
) -> Result<VmafxModelTrainingStatus> {
    let ready = async || {
        let run = fixture.trainings.get(NAME).await.map_err(|error| error.to_string())?;
        let status = run.status.unwrap_or_default();
        if condition(&status) { Ok(status) } else { Err(serde_json::to_string(&status).unwrap_or_default()) }
    };
    Ok(wait::until(STEP_TIMEOUT, what, ready).await?)
}

async fn label(fixture: &UserFixture<'_>, job: &VmafxJob, opinion: f64) -> Result<()> {
    fixture.patch_spec(&fixture.jobs, &job.name_any(), json!({ "groundTruth": opinion })).await
}

/// Manifest of a tag in the registry.
async fn manifest(fixture: &UserFixture<'_>, tag: &str) -> Result<Value> {
    let url = format!("http://{}/v2/{REPOSITORY}/manifests/{tag}", fixture.external.registry_on_host());
    let request = reqwest::Client::new().get(url).timeout(STEP_TIMEOUT);
    let response = request.header("accept", "application/vnd.oci.image.manifest.v1+json").send().await?;
    Ok(serde_json::from_slice(&response.error_for_status()?.bytes().await?)?)
}

fn score(job: &VmafxJob) -> Option<f64> {
    job.status.as_ref()?.score
}

/// Number of the job's pair.
fn number(job: &VmafxJob) -> Option<usize> {
    job.name_any().strip_prefix("clip-")?.parse().ok()
}

fn worst(jobs: &[VmafxJob]) -> Result<&VmafxJob> {
    let by_score =
        |a: &&VmafxJob, b: &&VmafxJob| score(a).unwrap_or(100.0).total_cmp(&score(b).unwrap_or(100.0));
    jobs.iter().min_by(by_score).context("no jobs")
}

/// Simulated opinion of viewers: milder than the base model, with some variation.
fn opinion_score(score: f64, index: usize) -> f64 {
    let deviation = [0.0, 4.0, -3.0, 1.0, -4.0, 2.0, 3.0][index % 7];
    (30.0 + 0.6 * score + deviation).clamp(0.0, 100.0)
}

fn is_true(status: &VmafxModelTrainingStatus, type_: &str) -> bool {
    status.conditions.iter().any(|one| one.type_ == type_ && one.status == ConditionStatus::True)
}
