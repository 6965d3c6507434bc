//! The external engine: a script that records its arguments and writes a recorded result.

use std::fs;
use std::path::PathBuf;

use rstest::rstest;
use vmafx_job::{Backend, FailureReason, Feature, FrameSize, LengthMismatch, ScaleTo};
use vmafx_node::task::{ExternalEngine, ModelSource, Task};

use crate::fixture::{Fixture, failure, golden, processes_in, raw, run};

/// The output of `vmaf` 3.2 with `--json` for two frames.
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

/// Records its arguments and writes the recorded result to the file that they name.
fn recorder(fixture: &Fixture) -> ExternalEngine {
    fixture.write("recorded.json", RECORDED);
    let script = format!(
        "printf '%s\\n' \"$@\" > $TMPDIR/arguments
while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; [ \"$1\" = -m ] && model=$2; shift; done
case $model in path=*) cp \"${{model#path=}}\" $TMPDIR/model.seen;; esac
cat > $out <<'END'\n{RECORDED}END"
    );
    ExternalEngine { program: fixture.script("vmaf", &script), backend: Backend::Cuda }
}

fn y4m(fixture: &Fixture, name: &str, frames: usize) -> PathBuf {
    let mut file = b"YUV4MPEG2 W160 H96 F25:1 Ip A1:1 C420jpeg\n".to_vec();
    for frame in 0..frames {
        file.extend_from_slice(b"FRAME\n");
        file.resize(file.len() + 160 * 96 * 3 / 2, u8::try_from(frame % 200).unwrap());
    }
    fixture.write(name, file)
}

fn task(fixture: &Fixture) -> Task {
    let mut task = fixture.task(&y4m(fixture, "reference.y4m", 2), &y4m(fixture, "distorted.y4m", 2));
    task.engine = Some(recorder(fixture));
    task
}

fn arguments(fixture: &Fixture) -> Vec<String> {
    let text = fs::read_to_string(fixture.scratch().join("arguments")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_command_is_called_as_the_contract_says() {
    let fixture = Fixture::new();
    let task = task(&fixture);
    let found = run(&task).await.unwrap();
    let (reference, distorted) = (fixture.path("reference.y4m"), fixture.path("distorted.y4m"));
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
    assert_eq!(arguments(&fixture), expected);
    let details = found.details.unwrap();
    let size = FrameSize { width: 160, height: 96 };
    assert_eq!((found.score, details.frames, details.size), (92.599_074, 2, Some(size)));
    assert_eq!(found.features.keys().collect::<Vec<_>>(), ["integer_adm2", "integer_motion2"]);
    let scores = details.scores.unwrap();
    assert_eq!((scores.min, scores.max), (90.273_022, 94.925_126));
    assert_eq!(details.model, "vmaf_v0.6.1");
    assert!(details.model_digest.starts_with("sha256:"));
}

#[tokio::test]
async fn a_model_file_needs_no_escaping_whatever_it_is_called() {
    let fixture = Fixture::new();
    let mut task = task(&fixture);
    let path = fixture.path("a:b=c\\d.json");
    fs::copy(golden("vmaf_v0.6.1.json"), &path).unwrap();
    task.model = ModelSource::File { path: path.clone(), name: "oci://registry/model:1".to_owned() };
    task.report = Some(fixture.scratch().join("report.json"));
    let found = run(&task).await.unwrap();
    assert!(arguments(&fixture).contains(&"path=engine-model.json".to_owned()));
    assert_eq!(fs::read(fixture.scratch().join("model.seen")).unwrap(), fs::read(&path).unwrap());
    assert_eq!(found.details.unwrap().model, "oci://registry/model:1");
    assert_eq!(fs::read_to_string(fixture.scratch().join("report.json")).unwrap(), RECORDED);
}

#[tokio::test]
async fn every_option_reaches_the_command() {
    let fixture = Fixture::new();
    let mut task = fixture.golden_task();
    task.engine = Some(recorder(&fixture));
    task.options.features = vec![Feature::Psnr, Feature::MsSsim];
    task.options.frame_step = Some(3.try_into().unwrap());
    run(&task).await.unwrap();
    let found = arguments(&fixture).join(" ");
    let expected = "--json --backend cuda --threads 2 --subsample 3 --feature psnr --feature float_ms_ssim --width 160 \
                    --height 90 --pixel_format 420 --bitdepth 8";
    assert!(found.ends_with(expected), "{found}");
}

#[rstest]
#[case::coded(|fixture: &Fixture, task: &mut Task| {
    let coded = fixture.encode("clip.mp4", "160x96", 2, &["-c:v", "libx264", "-pix_fmt", "yuv420p"]);
    task.distorted.path = coded;
}, FailureReason::InputInvalid, "s3://bucket/distorted is h264: an external engine reads Y4M and headerless clips only")]
#[case::longer(|fixture: &Fixture, task: &mut Task| task.distorted.path = y4m(fixture, "longer.y4m", 3), FailureReason::ClipsDiffer, "s3://bucket/reference has 2 frames and s3://bucket/distorted has 3")]
#[case::scaled(|_: &Fixture, task: &mut Task| task.options.scale_to = Some(ScaleTo::Size(FrameSize { width: 320, height: 192 })), FailureReason::ClipsDiffer, "neither scales nor converts")]
#[case::one_is_raw(|_: &Fixture, task: &mut Task| {
    task.distorted.path = golden("dis_160x90.yuv");
    task.distorted.raw = Some(raw(160, 90));
}, FailureReason::OptionsInvalid, "two Y4M clips, or two headerless clips of one format")]
#[case::no_such_model(|_: &Fixture, task: &mut Task| task.model = ModelSource::BuiltIn("vmaf_v9".to_owned()), FailureReason::ModelNotFound, "vmaf_v9")]
#[tokio::test]
async fn a_task_that_it_would_score_wrongly_is_refused(
    #[case] change: fn(&Fixture, &mut Task),
    #[case] reason: FailureReason,
    #[case] part: &str,
) {
    let fixture = Fixture::new();
    let mut task = task(&fixture);
    change(&fixture, &mut task);
    let failure = failure(&fixture, &task).await;
    assert_eq!(failure.reason, reason, "{}", failure.message);
    assert!(failure.message.contains(part), "{}", failure.message);
    assert!(!fixture.scratch().join("arguments").exists(), "it was started");
}

#[tokio::test]
async fn a_longer_clip_is_allowed_when_the_shortest_is_requested() {
    let fixture = Fixture::new();
    let mut task = task(&fixture);
    task.distorted.path = y4m(&fixture, "longer.y4m", 3);
    task.options.length_mismatch = Some(LengthMismatch::Shortest);
    run(&task).await.unwrap();
}

#[rstest]
#[case::fails(
    "echo 'no CUDA device' >&2; exit 5",
    "the external engine vmaf failed with exit code 5; its last message: no CUDA device"
)]
#[case::crashes(
    "ulimit -f 0; exec printf x > file",
    "the external engine vmaf was killed by SIGXFSZ; its last message: "
)]
#[case::leaves_nothing(
    "exit 0",
    "cannot read the result of the external engine: No such file or directory (os error 2)"
)]
#[case::leaves_garbage(
    "echo nonsense > engine.json",
    "the result of the external engine cannot be parsed: expected ident at line 1 column 2"
)]
#[tokio::test]
async fn an_engine_that_fails_is_quoted(#[case] script: &str, #[case] message: &str) {
    let fixture = Fixture::new();
    let mut task = task(&fixture);
    task.engine = Some(ExternalEngine { program: fixture.script("vmaf", script), backend: Backend::Cuda });
    let failure = failure(&fixture, &task).await;
    assert_eq!((failure.reason, failure.message.as_str()), (FailureReason::WorkerCrashed, message));
    assert_eq!(processes_in(&fixture.scratch()), []);
}
