//! The external engine: a program that checks how it is called and writes what a real one wrote.

use std::fs;
use std::path::PathBuf;

use rstest::rstest;
use vmafx_node::failure::Reason;
use vmafx_node::task::{ExternalEngine, Model, RawVideo, ScaleTo, Task};

use crate::stage::{Stage, failure, golden, processes_in, run};

/// What `vmaf` 3.2 writes with `--json`, of two frames.
const RECORDED: &str = r#"{
  "version": "3.2.0",
  "fps": 161.35,
  "frames": [
    { "frameNum": 0, "metrics": { "integer_motion2": 0.000000, "integer_adm2": 0.962084, "vmaf": 90.273022 } },
    { "frameNum": 1, "metrics": { "integer_motion2": 1.410253, "integer_adm2": 0.971011, "vmaf": 94.925126 } }
  ],
  "pooled_metrics": {
    "integer_motion2": { "min": 0.000000, "max": 1.410253, "mean": 0.705127, "harmonic_mean": 0.413793 },
    "integer_adm2": { "min": 0.962084, "max": 0.971011, "mean": 0.966547, "harmonic_mean": 0.966537 },
    "vmaf": { "min": 90.273022, "max": 94.925126, "mean": 92.599074, "harmonic_mean": 92.541259 }
  },
  "aggregate_metrics": {}
}
"#;

/// Writes down its arguments and leaves the recorded result where it is told to.
fn recorder(stage: &Stage) -> ExternalEngine {
    stage.write("recorded.json", RECORDED);
    let script = format!(
        "printf '%s\\n' \"$@\" > $TMPDIR/arguments
while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; [ \"$1\" = -m ] && model=$2; shift; done
case $model in path=*) cp \"${{model#path=}}\" $TMPDIR/model.seen;; esac
cat > $out <<'END'\n{RECORDED}END"
    );
    ExternalEngine { program: stage.script("vmaf", &script), backend: "cuda".to_owned() }
}

/// A Y4M clip of so many frames.
fn y4m(stage: &Stage, name: &str, frames: usize) -> PathBuf {
    let mut file = b"YUV4MPEG2 W160 H96 F25:1 Ip A1:1 C420jpeg\n".to_vec();
    for frame in 0..frames {
        file.extend_from_slice(b"FRAME\n");
        file.resize(file.len() + 160 * 96 * 3 / 2, u8::try_from(frame % 200).unwrap());
    }
    stage.write(name, file)
}

fn task(stage: &Stage) -> Task {
    let mut task = stage.task(&y4m(stage, "reference.y4m", 2), &y4m(stage, "distorted.y4m", 2));
    task.engine = Some(recorder(stage));
    task
}

fn arguments(stage: &Stage) -> Vec<String> {
    let text = fs::read_to_string(stage.scratch().join("arguments")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_command_is_called_as_the_contract_says() {
    let stage = Stage::new();
    let task = task(&stage);
    let found = run(&task).await.unwrap();
    let (reference, distorted) = (stage.path("reference.y4m"), stage.path("distorted.y4m"));
    let expected = [
        "-r",
        reference.to_str().unwrap(),
        "-d",
        distorted.to_str().unwrap(),
        "-m",
        "version=vmaf_v0.6.1",
        "-o",
        "engine.json",
        "--json",
        "--backend",
        "cuda",
        "--threads",
        "2",
    ];
    assert_eq!(arguments(&stage), expected);
    assert_eq!((found.score, found.frames, found.size), (92.599_074, 2, (160, 96)));
    assert_eq!(found.features.keys().collect::<Vec<_>>(), ["integer_adm2", "integer_motion2"]);
    assert_eq!((found.pooled.min, found.pooled.max), (90.273_022, 94.925_126));
    assert_eq!(found.model, "vmaf_v0.6.1");
    assert!(found.model_digest.starts_with("sha256:"));
}

#[tokio::test]
async fn a_model_file_needs_no_escaping_whatever_it_is_called() {
    let stage = Stage::new();
    let mut task = task(&stage);
    let path = stage.path("a:b=c\\d.json");
    fs::copy(golden("vmaf_v0.6.1.json"), &path).unwrap();
    task.model = Model::File { path: path.clone(), name: "oci://registry/model:1".to_owned() };
    task.report = Some(stage.scratch().join("report.json"));
    let found = run(&task).await.unwrap();
    assert!(arguments(&stage).contains(&"path=engine-model.json".to_owned()));
    assert_eq!(fs::read(stage.scratch().join("model.seen")).unwrap(), fs::read(&path).unwrap());
    assert_eq!(found.model, "oci://registry/model:1");
    assert_eq!(fs::read_to_string(stage.scratch().join("report.json")).unwrap(), RECORDED);
}

#[tokio::test]
async fn every_option_reaches_the_command() {
    let stage = Stage::new();
    let mut task = stage.golden_task();
    task.engine = Some(recorder(&stage));
    task.features = vec!["psnr".to_owned(), "ms-ssim".to_owned()];
    task.frame_step = 3;
    run(&task).await.unwrap();
    let found = arguments(&stage).join(" ");
    let expected = "--json --backend cuda --threads 2 --subsample 3 --feature psnr --feature float_ms_ssim --width 160 \
                    --height 90 --pixel_format 420 --bitdepth 8";
    assert!(found.ends_with(expected), "{found}");
}

#[rstest]
#[case::coded(|stage: &Stage, task: &mut Task| {
    let coded = stage.encode("clip.mp4", "160x96", 2, &["-c:v", "libx264", "-pix_fmt", "yuv420p"]);
    task.distorted.path = coded;
}, Reason::InputInvalid, "s3://bucket/distorted is h264: an external engine reads Y4M and raw pictures only")]
#[case::longer(|stage: &Stage, task: &mut Task| task.distorted.path = y4m(stage, "longer.y4m", 3), Reason::ClipsDiffer, "s3://bucket/reference has 2 frames and s3://bucket/distorted has 3")]
#[case::scaled(|_: &Stage, task: &mut Task| task.scale_to = ScaleTo::Size { width: 320, height: 192 }, Reason::ClipsDiffer, "scales and converts nothing")]
#[case::one_is_raw(|_: &Stage, task: &mut Task| {
    let raw = RawVideo { width: 160, height: 96, pixel_format: "yuv420p".to_owned(), bit_depth: 8 };
    task.distorted.path = golden("dis_160x90.yuv");
    task.distorted.raw = Some(RawVideo { height: 90, ..raw });
}, Reason::OptionsInvalid, "two raw clips of one shape, or two Y4M clips")]
#[case::no_such_model(|_: &Stage, task: &mut Task| task.model = Model::BuiltIn("vmaf_v9".to_owned()), Reason::ModelNotFound, "vmaf_v9")]
#[case::no_such_feature(|_: &Stage, task: &mut Task| task.features = vec!["-x".to_owned()], Reason::OptionsInvalid, "there is no feature \"-x\"")]
#[tokio::test]
async fn what_it_would_get_wrong_is_refused(
    #[case] change: fn(&Stage, &mut Task),
    #[case] reason: Reason,
    #[case] part: &str,
) {
    let stage = Stage::new();
    let mut task = task(&stage);
    change(&stage, &mut task);
    let failure = failure(&stage, &task).await;
    assert_eq!(failure.reason, reason, "{}", failure.message);
    assert!(failure.message.contains(part), "{}", failure.message);
    assert!(!stage.scratch().join("arguments").exists(), "it was started");
}

#[tokio::test]
async fn a_longer_clip_is_allowed_when_the_shortest_is_asked_for() {
    let stage = Stage::new();
    let mut task = task(&stage);
    task.distorted.path = y4m(&stage, "longer.y4m", 3);
    task.shortest = true;
    run(&task).await.unwrap();
}

#[rstest]
#[case::fails(
    "echo 'no CUDA device' >&2; exit 5",
    "the engine vmaf failed with exit code 5; it said: no CUDA device"
)]
#[case::crashes("kill -SEGV $$", "the engine vmaf was ended by SIGSEGV; it said: ")]
#[case::leaves_nothing(
    "exit 0",
    "the engine left no readable result: No such file or directory (os error 2)"
)]
#[case::leaves_nonsense(
    "echo nonsense > engine.json",
    "the engine's result cannot be read: expected ident at line 1 column 2"
)]
#[tokio::test]
async fn an_engine_that_fails_is_quoted(#[case] script: &str, #[case] message: &str) {
    let stage = Stage::new();
    let mut task = task(&stage);
    task.engine = Some(ExternalEngine { program: stage.script("vmaf", script), backend: "cuda".to_owned() });
    let failure = failure(&stage, &task).await;
    assert_eq!((failure.reason, failure.message.as_str()), (Reason::WorkerCrashed, message));
    assert_eq!(processes_in(&stage.scratch()), []);
}
