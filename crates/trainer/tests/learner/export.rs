//! An exported model in the hands of libvmaf: the one that the engine is made of, and that of ffmpeg.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::engine::models::{ModelChoice, built_in};
use vmafx_scoring::input::{Clip, RawFormat, Tools};
use vmafx_scoring::outcome::Outcome;
use vmafx_scoring::picture::Format;
use vmafx_scoring::score::{self, Request};
use vmafx_trainer::learner::{BaseModel, Learner, Options};

use crate::stream::{CLASSIC, Chance, base};

/// Large enough for every model.
const REFERENCE: &str = "src01_hrc00_576x324.yuv420p10le.yuv";
const DISTORTED: &str = "src01_hrc01_576x324.yuv420p10le.yuv";
const FORMAT: Format = Format { width: 576, height: 324, chroma: PixelFormat::Yuv420p, depth: BitDepth::Ten };

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data").join(name)
}

fn score(models: Vec<ModelChoice>) -> Outcome {
    let clip = |name| Clip::described(golden(name), RawFormat { format: FORMAT, frame_rate: Some(25.0) });
    let mut request = Request::new(clip(REFERENCE), vec![clip(DISTORTED)]);
    request.models = models;
    score::run(&request, &Tools::from_process_env(), &(), &CancellationToken::new()).unwrap().remove(0)
}

fn exported(learner: &Learner, directory: &TempDir) -> ModelChoice {
    let path = directory.path().join("learned.json");
    std::fs::write(&path, learner.export()).unwrap();
    ModelChoice::File(path)
}

fn single_models() -> impl Iterator<Item = &'static str> {
    built_in().map(|model| model.name).filter(|name| !name.contains("_b_"))
}

/// The features of every frame, in the model's order.
fn frames(base: &BaseModel, outcome: &Outcome) -> Vec<Vec<f64>> {
    let frame = |at: usize| base.features().iter().map(|name| outcome.features[name][at]).collect();
    (0..outcome.frames.len()).map(frame).collect()
}

/// Teaches clips around those of an outcome, by viewers who find everything worse than the model does.
fn teach(learner: &mut Learner, frames: &[Vec<f64>]) {
    let mut chance = Chance(7);
    for job in 0..300 {
        let near: Vec<f64> =
            frames[job % frames.len()].iter().map(|value| value * (0.8 + 0.25 * chance.next())).collect();
        let label = (learner.predict(&near) * 0.6 + chance.next() * 10.0).clamp(0.0, 100.0);
        learner.learn_row(&job.to_string(), &near, label).unwrap();
    }
}

fn largest_difference(left: &[f64], right: &[f64]) -> f64 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn an_untaught_learner_exports_its_base_model() {
    for name in single_models() {
        let directory = TempDir::new().unwrap();
        let learner = Learner::new(base(name), Options::default()).unwrap();
        let outcome = score(vec![ModelChoice::Named(name.to_owned()), exported(&learner, &directory)]);
        let [before, after] = [0, 1].map(|at| &outcome.models[at].scores);
        assert!(largest_difference(before, after) < 1e-9, "{name}: {before:?} {after:?}");
        let own: Vec<f64> =
            frames(learner.base(), &outcome).iter().map(|frame| learner.predict(frame)).collect();
        assert!(largest_difference(before, &own) < 1e-9, "{name}: {before:?} {own:?}");
    }
}

#[test]
fn libvmaf_says_what_the_learner_says() {
    for name in single_models() {
        let directory = TempDir::new().unwrap();
        let mut learner = Learner::new(base(name), Options::default()).unwrap();
        let before = score(vec![ModelChoice::Named(name.to_owned())]);
        let frames = frames(learner.base(), &before);
        teach(&mut learner, &frames);
        let after = score(vec![exported(&learner, &directory)]);
        let own: Vec<f64> = frames.iter().map(|frame| learner.predict(frame)).collect();
        let (before, after) = (&before.models[0].scores, &after.models[0].scores);
        assert!(largest_difference(after, &own) < 1e-6, "{name}: {after:?} {own:?}");
        assert!(
            largest_difference(before, after) > 5.0,
            "{name} has learned something: {before:?} {after:?}"
        );
    }
}

#[test]
fn everything_but_the_machine_is_kept() {
    let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    for name in single_models() {
        let mut learner = Learner::new(base(name), Options::default()).unwrap();
        let width = learner.base().features().len();
        learner.learn_row("job", &vec![0.7; width], 20.0).unwrap();
        let mut before = json(vmafx_scoring::engine::models::Model::named(name).unwrap().json());
        let mut after = json(&learner.export());
        assert_ne!(before, after);
        for value in [&mut before, &mut after] {
            value["model_dict"]["model"].take();
        }
        assert_eq!(before, after);
        // And it can be learned from in turn.
        let next = BaseModel::parse("learned", &learner.export()).unwrap();
        assert_eq!(next.features(), learner.base().features());
        let next = Learner::new(next, Options::default()).unwrap();
        let features = vec![0.6; width];
        assert!((next.predict(&features) - learner.predict(&features)).abs() < 1e-9);
    }
}

/// The ffmpeg of this machine, if it has the filter.
fn peer() -> Option<PathBuf> {
    let ffmpeg = Tools::from_process_env().ffmpeg()?.to_owned();
    let filters = Command::new(&ffmpeg).args(["-hide_banner", "-filters"]).output().ok()?;
    String::from_utf8_lossy(&filters.stdout).contains(" libvmaf ").then_some(ffmpeg)
}

#[rstest]
#[case::classic(CLASSIC)]
#[case::not_rewarding_enhancement("vmaf_v0.6.1neg")]
fn ffmpegs_filter_loads_a_learned_model(#[case] name: &str) {
    let Some(program) = peer() else {
        // Past the harness's capture: a skipped test must be seen.
        writeln!(std::io::stderr(), "skipped: no ffmpeg with libvmaf here; `make test` brings one").unwrap();
        return;
    };
    let directory = TempDir::new().unwrap();
    let mut learner = Learner::new(base(name), Options::default()).unwrap();
    let before = score(vec![ModelChoice::Named(name.to_owned())]);
    let frames = frames(learner.base(), &before);
    teach(&mut learner, &frames);
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
    // Its libvmaf is older, and its log has six digits.
    assert!(
        largest_difference(&ours.models[0].scores, &theirs) < 0.02,
        "{:?} {theirs:?}",
        ours.models[0].scores
    );
    assert!(largest_difference(&before.models[0].scores, &theirs) > 5.0, "it is not the base model");
}
