//! The same pair stored in every way: its content decides how a clip is read, not its name. The node's front ends read the
//! same clips in `crates/node/tests/frontends`.

use std::fs;

use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;
use vmafx_scoring::input::Tools;
use vmafx_testkit::clips::{ClipKind, write_all_kinds};
use vmafx_testkit::command::CommandOutput;

use crate::command::{RAW, clip, golden_pair, score_with};

fn clips() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["ref", "dis"] {
        fs::copy(clip(&format!("{name}_160x90.yuv")), directory.path().join(format!("{name}.yuv"))).unwrap();
    }
    let tools = Tools::from_process_env();
    let ffmpeg = tools.ffmpeg().expect("these tests need ffmpeg: install it or set VMAFX_FFMPEG_BIN");
    write_all_kinds(directory.path(), ffmpeg).unwrap();
    directory
}

fn score(reference: ClipKind, distorted: ClipKind, described: bool) -> CommandOutput {
    let directory = clips();
    let path = |kind: ClipKind, clip: &str| directory.path().join(kind.file_name(clip)).display().to_string();
    let description = if described { &RAW[..] } else { &[] };
    let options = ["--model", "vmaf_v0.6.1", "-o", "json"];
    let clips = [path(reference, "ref"), path(distorted, "dis")];
    score_with(clips.iter().map(String::as_str).chain(description.iter().copied()).chain(options))
}

fn pooled(ran: &CommandOutput) -> Value {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    report["pooled_metrics"]["vmaf"].clone()
}

#[rstest]
fn a_clip_with_a_header_is_read_by_its_header_whether_it_is_described_or_not(
    #[values(ClipKind::Y4m, ClipKind::Y4mOfAnotherName, ClipKind::Mp4)] kind: ClipKind,
    #[values(true, false)] described: bool,
) {
    let expected = golden_pair(&["--model", "vmaf_v0.6.1", "-o", "json"]);
    assert_eq!(pooled(&score(kind, kind, described)), pooled(&expected));
}

#[rstest]
fn a_headerless_clip_is_read_by_its_description(
    #[values(ClipKind::Yuv, ClipKind::YuvWithoutEnding, ClipKind::Y4m)] reference: ClipKind,
    #[values(ClipKind::Yuv, ClipKind::YuvWithoutEnding, ClipKind::Y4mOfAnotherName, ClipKind::Mp4)]
    distorted: ClipKind,
) {
    let expected = golden_pair(&["--model", "vmaf_v0.6.1", "-o", "json"]);
    assert_eq!(pooled(&score(reference, distorted, true)), pooled(&expected));
}

#[rstest]
fn a_headerless_clip_without_a_description_is_refused(
    #[values(ClipKind::Yuv, ClipKind::YuvWithoutEnding)] kind: ClipKind,
) {
    let ran = score(kind, kind, false);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for part in [kind.file_name("ref").as_str(), "--size"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}

#[rstest]
fn the_address_of_a_clip_is_refused_with_what_to_do(#[values(true, false)] described: bool) {
    let address = "https://host/ref.mp4?signature=x.yuv";
    let description = if described { &RAW[..] } else { &[] };
    let ran = score_with([address, address].iter().chain(description));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for part in [address, "vmafx submit"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}
