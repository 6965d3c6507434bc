//! A score through the worker is the score of the engine, to the last bit.

use std::fs;
use std::sync::Mutex;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_node::launch::Launcher;
use vmafx_node::task::{Model, Pooled};
use vmafx_scoring::engine::models::ModelChoice;
use vmafx_scoring::input::{Clip, RawFormat, Tools};
use vmafx_scoring::picture::Format;
use vmafx_scoring::report::Summary;
use vmafx_scoring::score::{self, Request};

use crate::stage::{LONG, Stage, golden, node, run};

fn direct(request: &Request) -> Summary {
    let outcomes = score::run(request, &Tools::from_process_env(), &(), &CancellationToken::new()).unwrap();
    Summary::of(&outcomes[0]).unwrap()
}

#[tokio::test]
async fn the_golden_pair_is_equal_bit_for_bit() {
    let stage = Stage::new();
    let mut task = stage.golden_task();
    task.features = vec!["psnr".to_owned()];
    let format = Format { width: 160, height: 90, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };
    let clip = |name| Clip::described(golden(name), RawFormat { format, frame_rate: None });
    let mut request = Request::new(clip("ref_160x90.yuv"), vec![clip("dis_160x90.yuv")]);
    request.models = vec![ModelChoice::Named("vmaf_v0.6.1".to_owned())];
    request.options.features = vec!["psnr".parse().unwrap()];
    let expected = direct(&request);

    let found = run(&task).await.unwrap();
    let model = &expected.models[0];
    assert_eq!(found.score.to_bits(), model.pooled.mean.to_bits());
    let pooled = &model.pooled;
    let numbers = Pooled {
        mean: pooled.mean,
        harmonic_mean: pooled.harmonic_mean,
        min: pooled.min.value,
        max: pooled.max.value,
        stddev: pooled.stddev,
        p1: pooled.p1.value,
        p5: pooled.p5.value,
        p10: pooled.p10.value,
        p50: pooled.p50.value,
    };
    assert_eq!(found.pooled, numbers);
    let features: Vec<_> =
        expected.features.iter().map(|(name, pooled)| (name.clone(), pooled.mean)).collect();
    assert_eq!(found.features.into_iter().collect::<Vec<_>>(), features);
    assert_eq!((found.model, found.model_digest), (model.name.clone(), model.digest.clone()));
    assert_eq!((found.frames, found.size), (48, (160, 90)));
}

#[tokio::test]
async fn coded_clips_are_decoded_inside_the_confinement() {
    let stage = Stage::new();
    let coded = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"];
    let reference = stage.encode("reference.mp4", "320x240", 12, &coded);
    let small = stage.encode("distorted.mp4", "160x120", 12, &coded);
    let mut request = Request::new(Clip::new(&reference), vec![Clip::new(&small)]);
    request.models = vec![ModelChoice::Named("vmaf_v0.6.1".to_owned())];
    let found = run(&stage.task(&reference, &small)).await.unwrap();
    assert_eq!(found.score.to_bits(), direct(&request).models[0].pooled.mean.to_bits());
    assert_eq!(found.size, (320, 240));
    assert!(found.warnings.iter().any(|warning| warning.contains("160x120")), "{:?}", found.warnings);
}

#[tokio::test]
async fn the_report_calls_clips_and_model_by_their_addresses() {
    let stage = Stage::new();
    let mut task = stage.golden_task();
    task.model = Model::File { path: golden("vmaf_v0.6.1.json"), name: "oci://registry/model:1".to_owned() };
    task.report = Some(stage.scratch().join("report.json"));
    let found = run(&task).await.unwrap();
    assert_eq!(found.model, "oci://registry/model:1");
    let text = fs::read_to_string(stage.scratch().join("report.json")).unwrap();
    assert!(text.contains("s3://bucket/reference") && text.contains("oci://registry/model:1"), "{text}");
    assert!(!text.contains("ref_160x90") && !text.contains("/tests/data"), "a path of this machine");
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["frames"].as_array().unwrap().len(), 48);
}

#[tokio::test]
async fn progress_begins_with_nothing_and_ends_with_everything() {
    let stage = Stage::new();
    let heard = Mutex::new(Vec::new());
    let launcher = Launcher::new(node());
    launcher
        .run(
            &stage.golden_task(),
            |done, total| heard.lock().unwrap().push((done, total)),
            &CancellationToken::new(),
            LONG,
            None,
        )
        .await
        .unwrap();
    let heard = heard.into_inner().unwrap();
    assert_eq!((heard.first(), heard.last()), (Some(&(0, 48)), Some(&(48, 48))));
    let said = launcher.confinement().unwrap();
    assert!(said.len() > 10, "{said:?}");
}

#[tokio::test]
async fn a_task_is_not_begun_after_its_cancellation() {
    let stage = Stage::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let launcher = Launcher::new("/no/such/program".into());
    let result = launcher.run(&stage.golden_task(), |_, _| {}, &cancel, Duration::from_secs(1), None).await;
    assert_eq!(result, Err(vmafx_node::launch::Unscored::Cancelled));
}
