//! Exported models scored by libvmaf: the engine's own, and ffmpeg's.

use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::engine::models::{ModelChoice, built_in};
use vmafx_scoring::input::{Clip, RawFormat, Tools};
use vmafx_scoring::outcome::ScoringOutcome;
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::score::{self, Request};
use vmafx_testkit::prerequisite;
use vmafx_trainer::learner::{BaseModel, Learner, LearnerOptions};

use crate::samples::{CLASSIC, Rng, base};

/// Every model accepts clips of this size.
const REFERENCE: &str = "src01_hrc00_576x324.yuv420p10le.yuv";
const DISTORTED: &str = "src01_hrc01_576x324.yuv420p10le.yuv";
const FORMAT: PictureFormat =
    PictureFormat { width: 576, height: 324, chroma: PixelFormat::Yuv420p, depth: BitDepth::Ten };

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data").join(name)
}

fn score(models: Vec<ModelChoice>) -> ScoringOutcome {
    let clip = |name| Clip::described(golden(name), RawFormat { format: FORMAT, frame_rate: Some(25.0) });
    let mut request = Request::new(clip(REFERENCE), vec![clip(DISTORTED)]);
    request.models = models;
    score::run(&request, &Tools::from_process_env(), &(), &CancellationToken::new()).unwrap().remove(0)
}

fn exported(learner: &Learner, directory: &TempDir) -> ModelChoice {
    let path = directory.path().join("trained.json");
    std::fs::write(&path, learner.export()).unwrap();
    ModelChoice::File(path)
}

fn single_models() -> impl Iterator<Item = &'static str> {
    built_in().map(|model| model.name).filter(|name| !name.contains("_b_"))
}

/// The features of every frame, in the model's order.
fn frames(base: &BaseModel, outcome: &ScoringOutcome) -> Vec<Vec<f64>> {
    let frame = |at: usize| base.features().iter().map(|name| outcome.features[name][at]).collect();
    (0..outcome.frames.len()).map(frame).collect()
}

/// Trains on variations of the frames, with labels below the predictions.
fn train(learner: &mut Learner, frames: &[Vec<f64>]) {
    let mut rng = Rng(7);
    for job in 0..300 {
        let near: Vec<f64> =
            frames[job % frames.len()].iter().map(|value| value * (0.8 + 0.25 * rng.next())).collect();
        let label = (learner.predict(&near) * 0.6 + rng.next() * 10.0).clamp(0.0, 100.0);
        learner.learn_row(&job.to_string(), &near, label).unwrap();
    }
}

fn largest_difference(left: &[f64], right: &[f64]) -> f64 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn an_untrained_learner_exports_its_base_model() {
    for name in single_models() {
        let directory = TempDir::new().unwrap();
        let learner = Learner::new(base(name), LearnerOptions::default()).unwrap();
        let outcome = score(vec![ModelChoice::Named(name.to_owned()), exported(&learner, &directory)]);
        let [before, after] = [0, 1].map(|at| &outcome.models[at].scores);
        assert!(largest_difference(before, after) < 1e-9, "{name}: {before:?} {after:?}");
        let own: Vec<f64> =
            frames(learner.base(), &outcome).iter().map(|frame| learner.predict(frame)).collect();
        assert!(largest_difference(before, &own) < 1e-9, "{name}: {before:?} {own:?}");
    }
}

#[test]
fn libvmaf_and_the_learner_predict_the_same_scores() {
    for name in single_models() {
        let directory = TempDir::new().unwrap();
        let mut learner = Learner::new(base(name), LearnerOptions::default()).unwrap();
        let before = score(vec![ModelChoice::Named(name.to_owned())]);
        let frames = frames(learner.base(), &before);
        train(&mut learner, &frames);
        let after = score(vec![exported(&learner, &directory)]);
        let own: Vec<f64> = frames.iter().map(|frame| learner.predict(frame)).collect();
        let (before, after) = (&before.models[0].scores, &after.models[0].scores);
        assert!(largest_difference(after, &own) < 1e-6, "{name}: {after:?} {own:?}");
        assert!(largest_difference(before, after) > 5.0, "{name} has learned nothing: {before:?} {after:?}");
    }
}

#[test]
fn everything_except_the_machine_is_unchanged() {
    let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    for name in single_models() {
        let mut learner = Learner::new(base(name), LearnerOptions::default()).unwrap();
        let width = learner.base().features().len();
        learner.learn_row("job", &vec![0.7; width], 20.0).unwrap();
        let mut before = json(vmafx_scoring::engine::models::Model::named(name).unwrap().json());
        let mut after = json(&learner.export());
        assert_ne!(before, after);
        for value in [&mut before, &mut after] {
            value["model_dict"]["model"].take();
        }
        assert_eq!(before, after);
        // An export is a valid base model.
        let next = BaseModel::parse("trained", &learner.export()).unwrap();
        assert_eq!(next.features(), learner.base().features());
        let next = Learner::new(next, LearnerOptions::default()).unwrap();
        let features = vec![0.6; width];
        assert!((next.predict(&features) - learner.predict(&features)).abs() < 1e-9);
    }
}

/// This machine's ffmpeg, if it has the libvmaf filter.
fn ffmpeg_with_libvmaf() -> Option<PathBuf> {
    let ffmpeg = Tools::from_process_env().ffmpeg()?.to_owned();
    let filters = Command::new(&ffmpeg).args(["-hide_banner", "-filters"]).output().ok()?;
    String::from_utf8_lossy(&filters.stdout).contains(" libvmaf ").then_some(ffmpeg)
}

#[rstest]
#[case::classic(CLASSIC)]
#[case::not_rewarding_enhancement("vmaf_v0.6.1neg")]
fn ffmpegs_filter_loads_a_trained_model(#[case] name: &str) {
    let Some(program) = ffmpeg_with_libvmaf() else {
        prerequisite::skip("this machine has no ffmpeg with libvmaf; `make test` provides one");
        return;
    };
    let directory = TempDir::new().unwrap();
    let mut learner = Learner::new(base(name), LearnerOptions::default()).unwrap();
    let before = score(vec![ModelChoice::Named(name.to_owned())]);
    let frames = frames(learner.base(), &before);
    train(&mut learner, &frames);
    let model = exported(&learner, &directory);
    let ModelChoice::File(path) = &model else { panic!("a file") };
    let log = directory.path().join("log.json");
    let filter = format!("libvmaf=model=path={}:log_fmt=json:log_path={}", path.display(), log.display());
    let raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p10le", "-s", "576x324", "-r", "25"];
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-nostdin", "-loglevel", "error"]);
    command.args(raw).arg("-i").arg(golden(DISTORTED)).args(raw).arg("-i").arg(golden(REFERENCE));
    command.args(["-lavfi", &filter, "-f", "null", "-"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let log: serde_json::Value = serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap();
    let theirs: Vec<f64> = log["frames"]
        .as_array()
        .unwrap()
        .iter()
        .map(|frame| frame["metrics"]["vmaf"].as_f64().unwrap())
        .collect();
    let ours = score(vec![model]);
    // ffmpeg's libvmaf is older, and its log has six digits.
    assert!(
        largest_difference(&ours.models[0].scores, &theirs) < 0.02,
        "{:?} {theirs:?}",
        ours.models[0].scores
    );
    assert!(largest_difference(&before.models[0].scores, &theirs) > 5.0, "the filter used the base model");
}
