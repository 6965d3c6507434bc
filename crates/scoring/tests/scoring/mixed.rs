//! Pairs of clips of different kinds: each is read by its content, whatever its name and description.

use std::path::PathBuf;
use std::process::Command;

use rstest::rstest;
use vmafx_scoring::input::{Clip, InputError, Tools};
use vmafx_scoring::score::{Request, ScoreError};

use crate::clips::{Clips, format, named, outcome, raw, run};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Content {
    Raw,
    Y4m,
    /// Lossless, so that it has the score of its samples.
    Mp4,
}

/// Converts a raw clip.
pub(crate) fn converted(clips: &Clips, from: &Clip, content: Content, name: &str) -> PathBuf {
    let path = clips.path(name);
    let size = format!("{}x{}", clips.format.width, clips.format.height);
    let arguments: &[&str] = match content {
        Content::Raw => &["-f", "rawvideo"],
        Content::Y4m => &["-f", "yuv4mpegpipe"],
        Content::Mp4 => &["-c:v", "libx264", "-qp", "0", "-f", "mp4"],
    };
    let done = Command::new(Tools::from_process_env().ffmpeg().expect("these tests need ffmpeg"))
        .args(["-v", "error", "-y", "-f", "rawvideo", "-pixel_format", "yuv420p", "-video_size", &size, "-i"])
        .arg(&from.path)
        .args(arguments)
        .arg(&path)
        .status();
    assert!(done.unwrap().success());
    path
}

fn bits_of_scores(reference: Clip, distorted: Clip) -> Vec<u64> {
    let mut request = Request::new(reference, vec![distorted]);
    request.models = named("vmaf_v0.6.1");
    outcome(&request).models[0].scores.iter().map(|score| score.to_bits()).collect()
}

#[rstest]
fn every_pair_has_the_score_of_its_samples(
    #[values((Content::Raw, "r.yuv"), (Content::Raw, "r"), (Content::Y4m, "r.y4m"), (Content::Mp4, "r.mp4"))]
    reference: (Content, &str),
    #[values(
        (Content::Raw, "d.yuv"),
        (Content::Raw, "d"),
        (Content::Raw, "d.mp4"),
        (Content::Y4m, "d.y4m"),
        (Content::Y4m, "d.yuv"),
        (Content::Mp4, "d.mp4"),
        (Content::Mp4, "d.yuv"),
        (Content::Mp4, "d")
    )]
    distorted: (Content, &str),
    #[values(true, false)] is_described: bool,
) {
    let clips = Clips::new(format(160, 90));
    let (ours, theirs) = (clips.clip("ours", 4, 0), clips.clip("theirs", 4, 3));
    let make = |from: &Clip, (content, name): (Content, &str)| {
        let path = converted(&clips, from, content, name);
        if is_described { raw(&path, clips.format) } else { Clip::new(path) }
    };
    let pair = (make(&ours, reference), make(&theirs, distorted));
    if !is_described && (reference.0 == Content::Raw || distorted.0 == Content::Raw) {
        let mut request = Request::new(pair.0, vec![pair.1]);
        request.models = named("vmaf_v0.6.1");
        let error = run(&request).unwrap_err();
        assert!(matches!(error, ScoreError::Input(InputError::GeometryMissing { .. })), "{error}");
        return;
    }
    assert_eq!(bits_of_scores(pair.0, pair.1), bits_of_scores(ours, theirs));
}

/// The size of the container fits the description.
#[test]
fn a_wrong_description_does_not_change_the_score_of_a_container() {
    let clips = Clips::new(format(160, 90));
    let (ours, theirs) = (clips.clip("ours", 4, 0), clips.clip("theirs", 4, 3));
    let coded = converted(&clips, &theirs, Content::Mp4, "d.mp4");
    let mut bytes = std::fs::read(&coded).unwrap();
    bytes.resize(bytes.len().next_multiple_of(clips.format.bytes()), 0);
    std::fs::write(&coded, bytes).unwrap();
    assert_eq!(bits_of_scores(ours.clone(), raw(&coded, clips.format)), bits_of_scores(ours, theirs));
}
