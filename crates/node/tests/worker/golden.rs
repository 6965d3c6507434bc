//! A score of the worker is the score of `vmafx-scoring`, to the last bit.

use std::fs;
use std::sync::Mutex;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use vmafx_job::{Feature, FrameSize, PooledScores};
use vmafx_node::launch::Launcher;
use vmafx_node::task::ModelSource;
use vmafx_scoring::engine::models::ModelChoice;
use vmafx_scoring::input::{Clip, RawFormat, Tools};
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::report::ScoreSummary;
use vmafx_scoring::score::{self, Request};

use crate::fixture::{Fixture, LONG, golden, node, run};

fn direct(request: &Request) -> ScoreSummary {
    let outcomes = score::run(request, &Tools::from_process_env(), &(), &CancellationToken::new()).unwrap();
    ScoreSummary::of(&outcomes[0]).unwrap()
}

#[tokio::test]
async fn the_golden_pair_is_equal_bit_for_bit() {
    let fixture = Fixture::new();
    let mut task = fixture.golden_task();
    task.options.features = vec![Feature::Psnr];
    let format = PictureFormat {
        width: 160,
        height: 90,
        chroma: vmafx_job::PixelFormat::Yuv420p,
        depth: vmafx_job::BitDepth::Eight,
    };
    let clip = |name| Clip::described(golden(name), RawFormat { format, frame_rate: None });
    let mut request = Request::new(clip("ref_160x90.yuv"), vec![clip("dis_160x90.yuv")]);
    request.models = vec![ModelChoice::Named("vmaf_v0.6.1".to_owned())];
    request.options.features = vec!["psnr".parse().unwrap()];
    let expected = direct(&request);

    let found = run(&task).await.unwrap();
    let model = &expected.models[0];
    assert_eq!(found.score.to_bits(), model.pooled.mean.to_bits());
    let details = found.details.unwrap();
    let pooled = &model.pooled;
    let scores = PooledScores {
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
    assert_eq!(details.scores, Some(scores));
    let features: Vec<_> =
        expected.features.iter().map(|(name, pooled)| (name.clone(), pooled.mean)).collect();
    assert_eq!(found.features.into_iter().collect::<Vec<_>>(), features);
    assert_eq!((details.model, details.model_digest), (model.name.clone(), model.digest.clone()));
    assert_eq!((details.frames, details.size), (48, Some(FrameSize { width: 160, height: 90 })));
}

#[tokio::test]
async fn coded_clips_are_decoded_inside_the_confinement() {
    let fixture = Fixture::new();
    let coded = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"];
    let reference = fixture.encode("reference.mp4", "320x240", 12, &coded);
    let small = fixture.encode("distorted.mp4", "160x120", 12, &coded);
    let mut request = Request::new(Clip::new(&reference), vec![Clip::new(&small)]);
    request.models = vec![ModelChoice::Named("vmaf_v0.6.1".to_owned())];
    let found = run(&fixture.task(&reference, &small)).await.unwrap();
    assert_eq!(found.score.to_bits(), direct(&request).models[0].pooled.mean.to_bits());
    let details = found.details.unwrap();
    assert_eq!(details.size, Some(FrameSize { width: 320, height: 240 }));
    assert!(details.warnings.iter().any(|warning| warning.contains("160x120")), "{:?}", details.warnings);
}

#[tokio::test]
async fn the_report_names_clips_and_model_by_their_addresses() {
    let fixture = Fixture::new();
    let mut task = fixture.golden_task();
    task.model =
        ModelSource::File { path: golden("vmaf_v0.6.1.json"), name: "oci://registry/model:1".to_owned() };
    task.report = Some(fixture.scratch().join("report.json"));
    let found = run(&task).await.unwrap();
    assert_eq!(found.details.unwrap().model, "oci://registry/model:1");
    let text = fs::read_to_string(fixture.scratch().join("report.json")).unwrap();
    assert!(text.contains("s3://bucket/reference") && text.contains("oci://registry/model:1"), "{text}");
    assert!(!text.contains("ref_160x90") && !text.contains("/tests/data"), "a local path leaks");
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["frames"].as_array().unwrap().len(), 48);
}

#[tokio::test]
async fn progress_starts_at_zero_and_ends_at_the_total() {
    let fixture = Fixture::new();
    let progress = Mutex::new(Vec::new());
    let launcher = Launcher::new(node());
    launcher
        .run(
            &fixture.golden_task(),
            |done, total| progress.lock().unwrap().push((done, total)),
            &CancellationToken::new(),
            LONG,
            None,
        )
        .await
        .unwrap();
    let progress = progress.into_inner().unwrap();
    assert_eq!((progress.first(), progress.last()), (Some(&(0, 48)), Some(&(48, 48))));
    let measures = launcher.confinement().unwrap().measures;
    assert!(measures.len() > 10, "{measures:?}");
}

#[tokio::test]
async fn a_task_is_not_started_after_its_cancellation() {
    let fixture = Fixture::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let launcher = Launcher::new("/no/such/program".into());
    let result = launcher.run(&fixture.golden_task(), |_, _| {}, &cancel, Duration::from_secs(1), None).await;
    assert_eq!(result, Err(vmafx_node::launch::Unscored::Cancelled));
}
