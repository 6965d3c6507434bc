//! Pictures of the worst moments: the right frames, in the right colours, and never instead of a score.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use image::ImageReader;
use rstest::rstest;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use vmafx_scoring::input::{Clip, RawFormat, Tools};
use vmafx_scoring::moments::{JpegPicture, MAX_BYTES, MAX_MOMENTS};
use vmafx_scoring::outcome::{ScoringOutcome, Warning};
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::score::{self, Request, ScoreError};
use vmafx_testkit::script;

use crate::clips::{format, named, outcome, run, score_every, score_shortest};

const FORMAT: (u32, u32) = (160, 96);

/// A frame whose mean luma tells its number. Where `damage` is not 0, rows are shifted against each other.
fn frame(format: PictureFormat, number: u64, damage: usize) -> Vec<u8> {
    let (width, height) = format.plane(0);
    let base = 40 + 4 * usize::try_from(number).unwrap();
    let luma = (0..width * height).map(|at| {
        let (x, y) = (at % width, at / width);
        let x = if y % 2 == 0 { x } else { x + damage };
        u8::try_from(base + x % 16 + y / 4 % 8).unwrap()
    });
    let chroma = std::iter::repeat_n(128, 2 * format.plane_bytes(1));
    luma.chain(chroma).collect()
}

/// The mean luma of a frame as a level of full range.
fn level_of(frame: u64) -> f64 {
    #[expect(clippy::cast_precision_loss)]
    let luma = 40.0 + 4.0 * frame as f64 + 7.5 + 3.5;
    (luma - 16.0) * 255.0 / 219.0
}

struct Damaged {
    directory: TempDir,
    format: PictureFormat,
}

impl Damaged {
    fn new() -> Self {
        Self { directory: TempDir::new().unwrap(), format: format(FORMAT.0, FORMAT.1) }
    }

    /// A raw clip of two frames per second, so that two moments are at least three frames apart.
    fn clip(&self, name: &str, frames: u64, damage: &[(u64, usize)]) -> Clip {
        let of = |number: u64| damage.iter().find(|(frame, _)| *frame == number).map_or(0, |(_, by)| *by);
        let bytes: Vec<u8> = (0..frames).flat_map(|number| frame(self.format, number, of(number))).collect();
        let path = self.directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Clip::described(path, RawFormat { format: self.format, frame_rate: Some(2.0) })
    }

    /// Losses in frames 5, 12 and 30, the greatest in frame 30.
    fn request(&self) -> Request {
        let distorted = self.clip("distorted.yuv", 40, &[(5, 1), (12, 3), (30, 7)]);
        let mut request = Request::new(self.clip("reference.yuv", 40, &[]), vec![distorted]);
        request.models = named("vmaf_v0.6.1");
        request.pictures = true;
        request
    }
}

fn frames(outcome: &ScoringOutcome) -> Vec<u64> {
    outcome.worst_moments.iter().map(|moment| moment.frame).collect()
}

fn pixels(picture: &JpegPicture) -> Vec<[u8; 3]> {
    let reader = ImageReader::new(std::io::Cursor::new(&picture.bytes)).with_guessed_format().unwrap();
    let image = reader.decode().unwrap().to_rgb8();
    assert_eq!(image.dimensions(), (picture.width, picture.height));
    image.pixels().map(|pixel| pixel.0).collect()
}

fn mean(picture: &JpegPicture) -> f64 {
    let pixels = pixels(picture);
    #[expect(clippy::cast_precision_loss)]
    let count = pixels.len() as f64;
    pixels.iter().map(|pixel| f64::from(pixel[0])).sum::<f64>() / count
}

/// Each moment shows the frame that it names: of the reference, and of the distorted clip.
fn assert_shows_its_frames(outcome: &ScoringOutcome, reference_offset: u64, distorted_offset: u64) {
    assert!(!outcome.worst_moments.is_empty());
    for moment in &outcome.worst_moments {
        for (picture, offset) in
            [(&moment.reference, reference_offset), (&moment.distorted, distorted_offset)]
        {
            let (found, expected) = (mean(picture), level_of(moment.frame + offset));
            // Neighbouring frames are 4.7 levels apart.
            assert!((found - expected).abs() < 1.5, "frame {}: {found}, not {expected}", moment.frame);
        }
    }
}

#[test]
fn the_worst_frames_are_shown_the_worst_first() {
    let clips = Damaged::new();
    let outcome = outcome(&clips.request());
    assert_eq!(frames(&outcome), [30, 12], "at most two in a shot");
    let scores: Vec<f64> = outcome.worst_moments.iter().map(|moment| moment.score).collect();
    assert_eq!(scores, [outcome.models[0].scores[30], outcome.models[0].scores[12]]);
    assert_shows_its_frames(&outcome, 0, 0);
    assert!(mean(&outcome.worst_moments[0].difference) > 10.0);
    assert_eq!(outcome.warnings, []);
}

#[test]
fn there_are_no_pictures_unless_they_are_asked_for() {
    let clips = Damaged::new();
    let request = Request { pictures: false, ..clips.request() };
    assert_eq!(outcome(&request).worst_moments, []);
}

#[rstest]
#[case::chunks(4, 1, &[30, 12])]
#[case::a_frame_step(1, 5, &[30, 5])]
#[case::both(4, 5, &[30, 5])]
fn chunks_and_the_frame_step_show_what_was_scored(
    #[case] chunks: u32,
    #[case] step: u32,
    #[case] expected: &[u64],
) {
    let clips = Damaged::new();
    let mut request = clips.request();
    request.chunks = chunks;
    score_every(&mut request, step);
    let outcome = outcome(&request);
    assert_eq!(frames(&outcome), expected);
    assert_shows_its_frames(&outcome, 0, 0);
}

#[test]
fn offsets_are_counted_on_their_sides() {
    let clips = Damaged::new();
    let mut request = clips.request();
    (request.reference, request.reference_offset) = (clips.clip("longer.yuv", 42, &[]), 2);
    let ahead = outcome(&request);
    assert_eq!(frames(&ahead), [30, 12]);
    assert_shows_its_frames(&ahead, 2, 0);
    let mut request = clips.request();
    (request.reference, request.distorted_offset) = (clips.clip("shorter.yuv", 38, &[]), 2);
    let behind = outcome(&request);
    assert_eq!(frames(&behind), [28, 10]);
    assert_shows_its_frames(&behind, 0, 2);
}

#[test]
fn each_clip_of_a_ladder_has_its_own_moments() {
    let clips = Damaged::new();
    let mut request = clips.request();
    request.distorted.push(clips.clip("short.yuv", 20, &[(2, 5), (17, 7)]));
    request.distorted.push(clips.clip("other.yuv", 40, &[(36, 7), (20, 3)]));
    score_shortest(&mut request);
    let outcomes = run(&request).unwrap();
    assert_eq!(outcomes.iter().map(frames).collect::<Vec<_>>(), [[30, 12], [17, 2], [36, 20]]);
    for outcome in &outcomes {
        assert_shows_its_frames(outcome, 0, 0);
    }
}

#[test]
fn a_clip_that_is_scaled_is_shown_at_the_size_of_the_comparison() {
    if !has_ffmpeg() {
        return;
    }
    let clips = Damaged::new();
    let mut request = clips.request();
    request.options.scale_to = Some("240x144".parse().unwrap());
    let outcome = outcome(&request);
    assert_shows_its_frames(&outcome, 0, 0);
    let picture = &outcome.worst_moments[0].distorted;
    assert_eq!((picture.width, picture.height), (240, 144));
}

fn has_ffmpeg() -> bool {
    let found = Tools::from_process_env().ffmpeg().is_some();
    if !found {
        vmafx_testkit::prerequisite::skip("there is no ffmpeg; `make test` provides one");
    }
    found
}

fn ffmpeg(arguments: &[&str], to: &Path) {
    let tools = Tools::from_process_env();
    let mut command = Command::new(tools.ffmpeg().unwrap());
    let made = command.args(["-nostdin", "-loglevel", "error"]).args(arguments).arg(to).output().unwrap();
    assert!(made.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&made.stderr));
}

#[rstest]
fn frames_of_a_decoder_are_those_that_were_scored(#[values(1, 3)] chunks: u32) {
    if !has_ffmpeg() {
        return;
    }
    let clips = Damaged::new();
    let mut request = clips.request();
    request.chunks = chunks;
    let encoded = |clip: &Clip| {
        let from = clip.path.to_str().unwrap();
        let to = clip.path.with_extension("mkv");
        let raw = ["-f", "rawvideo", "-pixel_format", "yuv420p", "-video_size", "160x96", "-framerate", "2"];
        ffmpeg(&[&raw[..], &["-i", from, "-c:v", "libx264", "-qp", "0", "-bf", "3"]].concat(), &to);
        Clip::new(to)
    };
    request.reference = encoded(&request.reference);
    request.distorted = vec![encoded(&request.distorted[0])];
    let outcome = outcome(&request);
    assert_eq!(frames(&outcome), [30, 12]);
    assert_shows_its_frames(&outcome, 0, 0);
}

/// No component is at an end of its range, where errors are cut off.
const RED: [u8; 3] = [0xc0, 0x40, 0x20];
const BLUE: [u8; 3] = [0x20, 0x40, 0xc0];

/// What the samples mean comes from the tags; without any, a clip of this size has the matrix of BT.601.
#[rstest]
#[case::untagged("601", "tv", "yuv420p", "y4m", "rawvideo", &[])]
#[case::sparse_chroma("601", "tv", "yuv422p10le", "y4m", "rawvideo", &[])]
#[case::all_chroma("601", "tv", "yuv444p12le", "y4m", "rawvideo", &[])]
#[case::sixteen_bits("601", "tv", "yuv444p16le", "y4m", "rawvideo", &[])]
#[case::tagged("709", "tv", "yuv420p", "mkv", "ffv1", &["-colorspace", "bt709", "-color_range", "tv"])]
#[case::full_range("709", "pc", "yuv420p", "mkv", "ffv1", &["-colorspace", "bt709", "-color_range", "pc"])]
#[case::wide_colours("2020", "tv", "yuv420p10le", "mkv", "ffv1", &["-colorspace", "bt2020nc", "-color_range", "tv"])]
#[case::not_yuv("601", "tv", "gbrp", "mkv", "ffv1", &[])]
fn red_and_blue_stay_what_they_are(
    #[case] matrix: &str,
    #[case] range: &str,
    #[case] pixel_format: &str,
    #[case] ending: &str,
    #[case] codec: &str,
    #[case] tags: &[&str],
) {
    if !has_ffmpeg() {
        return;
    }
    let directory = TempDir::new().unwrap();
    let path: PathBuf = directory.path().join(format!("clip.{ending}"));
    let scale = match pixel_format {
        "gbrp" => String::new(),
        _ => format!(",scale=out_color_matrix=bt{matrix}:out_range={range}"),
    };
    let graph = format!(
        "color=#c04020:s=320x180:r=25,format=gbrp,drawbox=x=160:w=160:h=180:c=#2040c0:t=fill{scale},format={pixel_format}"
    );
    let encode = ["-f", "lavfi", "-i", &graph, "-frames:v", "2", "-strict", "-1", "-c:v", codec];
    if ending == "y4m" {
        ffmpeg(&encode[..8], &path);
    } else {
        ffmpeg(&[&encode[..], tags].concat(), &path);
    }
    let clip = Clip::new(path);
    let request =
        Request { models: named("vmaf_v0.6.1"), pictures: true, ..Request::new(clip.clone(), vec![clip]) };
    let outcome = outcome(&request);
    assert_eq!(
        outcome.warnings.iter().filter(|warning| matches!(warning, Warning::PicturesFailed { .. })).count(),
        0
    );
    let picture = &outcome.worst_moments[0].distorted;
    let pixels = pixels(picture);
    let at = |x: u32, y: u32| pixels[(y * picture.width + x) as usize];
    for (x, y, expected) in [(80, 90, RED), (240, 90, BLUE), (10, 10, RED)] {
        let found = at(x, y);
        let near = found.iter().zip(expected).all(|(a, b): (&u8, u8)| a.abs_diff(b) <= 4);
        assert!(near, "{found:?} instead of {expected:?}");
    }
}

#[test]
fn many_clips_share_the_bounds() {
    let clips = Damaged::new();
    let mut request = clips.request();
    request.distorted =
        (0..12).map(|clip| clips.clip(&format!("{clip}.yuv"), 40, &[(clip, 7), (clip + 20, 5)])).collect();
    let outcomes = run(&request).unwrap();
    let moments: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.worst_moments).collect();
    let sizes = moments.iter().flat_map(|moment| [&moment.reference, &moment.distorted, &moment.difference]);
    assert!(sizes.map(|picture| picture.bytes.len()).sum::<usize>() <= MAX_BYTES);
    assert_eq!(moments.len(), 12, "more clips than {MAX_MOMENTS} have one each");
}

/// Runs a request and deletes its distorted clip when the last pair was read.
fn run_and_delete(request: &Request) -> Result<Vec<ScoringOutcome>, ScoreError> {
    let deleted = AtomicBool::new(false);
    let observer = |done: u64, total: Option<u64>| {
        if Some(done) == total && !deleted.swap(true, Ordering::Relaxed) {
            std::fs::remove_file(&request.distorted[0].path).unwrap();
        }
    };
    let outcomes = score::run(request, &Tools::from_process_env(), &observer, &CancellationToken::new());
    assert!(deleted.into_inner());
    outcomes
}

#[test]
fn a_clip_that_is_gone_costs_the_pictures_and_not_the_score() {
    let clips = Damaged::new();
    let request = clips.request();
    let expected = outcome(&request).models[0].scores.clone();
    let outcome = run_and_delete(&request).unwrap().remove(0);
    assert_eq!(outcome.models[0].scores, expected);
    assert_eq!(outcome.worst_moments, []);
    assert_eq!(outcome.warnings, [Warning::PicturesFailed { reason: "ClipNotOpened".to_owned() }]);
}

/// A decoder that works once. When it is started again, it reports that through a named pipe and hangs.
const HANGING_DECODER: &str = r#"#!/bin/sh
if [ -e "$0.used" ]; then echo started > "$0.started"; exec sleep 1000; fi
: > "$0.used"
exec "$REAL" "$@"
"#;

#[test]
fn a_comparison_can_be_cancelled_while_its_pictures_are_read() {
    if !has_ffmpeg() {
        return;
    }
    let tools = Tools::from_process_env();
    let real = tools.ffmpeg().unwrap().to_str().unwrap();
    let clips = Damaged::new();
    let decoder = clips.directory.path().join("ffmpeg");
    script::write(&decoder, &HANGING_DECODER.replace("$REAL", real)).unwrap();
    let pipe = clips.directory.path().join("ffmpeg.started");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();

    let small = Damaged { directory: TempDir::new().unwrap(), format: format(128, 80) };
    let mut request = clips.request();
    // Another size makes ffmpeg scale the distorted clip, and only that.
    request.distorted = vec![small.clip("small.yuv", 40, &[(30, 7)])];
    let cancel = CancellationToken::new();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            // This returns when the decoder was started for the pictures.
            assert!(!std::fs::read_to_string(&pipe).unwrap().is_empty());
            cancel.cancel();
        });
        score::run(&request, &Tools::from_env(Some(decoder.as_os_str()), None), &(), &cancel)
    });
    assert!(matches!(result, Err(ScoreError::Cancelled)), "{result:?}");
}
