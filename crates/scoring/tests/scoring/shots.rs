//! Shots of clips with known cuts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use tempfile::TempDir;
use vmafx_scoring::input::{Clip, Tools};
use vmafx_scoring::outcome::ScoringOutcome;
use vmafx_scoring::score::Request;

use crate::clips::{named, outcome, run, score_every, score_shortest};

/// A directory for clips; `None`, with a note, where there is no ffmpeg.
fn directory() -> Option<TempDir> {
    if Tools::from_process_env().ffmpeg().is_none() {
        vmafx_testkit::prerequisite::skip("there is no ffmpeg; `make test` provides one");
        return None;
    }
    Some(TempDir::new().unwrap())
}

/// Joins filter graphs to a clip of 320x180 with 25 frames per second. The ending of the name chooses the codec.
fn join(directory: &Path, name: &str, parts: &[&str]) -> PathBuf {
    let path = directory.join(name);
    let mut graph = String::new();
    for (part, content) in parts.iter().enumerate() {
        let _ = write!(graph, "{content},scale=320:180,setsar=1,fps=25,format=yuv420p[p{part}];");
    }
    for part in 0..parts.len() {
        let _ = write!(graph, "[p{part}]");
    }
    let _ = write!(graph, "concat=n={}", parts.len());
    let tools = Tools::from_process_env();
    let made = Command::new(tools.ffmpeg().unwrap())
        .args(["-nostdin", "-loglevel", "error", "-filter_complex", &graph])
        .arg(&path)
        .output()
        .unwrap();
    assert!(made.status.success(), "{graph}: {}", String::from_utf8_lossy(&made.stderr));
    path
}

fn request(path: &Path) -> Request {
    let clip = Clip::new(path);
    Request { models: named("vmaf_v0.6.1"), threads: 2, ..Request::new(clip.clone(), vec![clip]) }
}

fn cuts(outcome: &ScoringOutcome) -> Vec<u64> {
    let shots = &outcome.shots;
    let paired = shots.iter().map(|shot| shot.frames).sum::<u64>();
    assert_eq!(paired, outcome.reference.frames.min(outcome.distorted.frames), "every frame is in a shot");
    assert_eq!(shots[0].first_frame, 0);
    shots.iter().skip(1).map(|shot| shot.first_frame).collect()
}

const BARS: &str = "smptebars=s=320x180:r=25:d=0.4";
const TEST: &str = "testsrc=s=320x180:r=25:d=0.8";
const BOXES: &str = "testsrc2=s=320x180:r=25:d=1";
const ZOOM: &str = "mandelbrot=s=320x180:r=25,trim=end_frame=30";
const LIFE: &str =
    "life=s=320x180:r=25:mold=10:seed=3:ratio=0.1:death_color=#c83232:life_color=#00ff00,trim=end_frame=20";
const BLACK: &str = "color=black:s=320x180:r=25:d=0.6";

#[rstest]
#[case::of_generated_content(&[TEST, ZOOM, BOXES, BARS, TEST], &[20, 50, 75, 85])]
#[case::of_noise(&[ZOOM, "color=gray:s=320x180:r=25:d=1,noise=alls=50:allf=t", BOXES], &[30, 55])]
#[case::of_black_pictures(&[BOXES, BLACK, ZOOM], &[25, 40])]
#[case::of_dark_pictures(&["testsrc2=s=320x180:r=25:d=1,lutyuv=y=16+(val-16)/4", "mandelbrot=s=320x180:r=25,trim=end_frame=30,lutyuv=y=16+(val-16)/4"], &[25])]
#[case::of_short_shots(&["testsrc2=s=320x180:r=25,trim=end_frame=5", "smptebars=s=320x180:r=25,trim=end_frame=4", "testsrc=s=320x180:r=25,trim=end_frame=6", ZOOM], &[5, 9, 15])]
fn hard_cuts_are_found(#[case] parts: &[&str], #[case] expected: &[u64]) {
    let Some(directory) = directory() else { return };
    let path = join(directory.path(), "clip.y4m", parts);
    assert_eq!(cuts(&outcome(&request(&path))), expected);
}

/// The picture of a zoom, larger than the clip and standing still.
const STILL: &str = "mandelbrot=s=1280x720:r=25:start_scale=1,trim=end_frame=1,loop=40:1,setpts=N/25/TB";

#[rstest]
#[case::movement(&[ZOOM])]
#[case::moving_boxes(&[BOXES])]
#[case::cells_that_live_and_die(&[LIFE])]
#[case::noise(&["color=gray:s=320x180:r=25:d=1,noise=alls=100:allf=t"])]
#[case::dark_noise(&["color=black:s=320x180:r=25:d=1,noise=alls=40:allf=t"])]
#[case::black(&[BLACK, BLACK])]
#[case::one_white_frame(&["testsrc2=s=320x180:r=25:d=1.6,drawbox=c=white:t=fill:enable=eq(n\\,20)"])]
#[case::three_white_frames(&["testsrc2=s=320x180:r=25:d=1.6,drawbox=c=white:t=fill:enable=between(n\\,20\\,22)"])]
#[case::two_black_frames(&["mandelbrot=s=320x180:r=25,trim=end_frame=40,drawbox=c=black:t=fill:enable=between(n\\,20\\,21)"])]
#[case::strobe(&["testsrc2=s=320x180:r=25:d=2,drawbox=c=white:t=fill:enable=between(mod(n\\,8)\\,4\\,5)"])]
#[case::fade_to_black(&["mandelbrot=s=320x180:r=25,trim=end_frame=40,fade=out:20:12"])]
#[case::fades(&["testsrc2=s=320x180:r=25:d=1.6,fade=out:20:20", "mandelbrot=s=320x180:r=25,trim=end_frame=40,fade=in:0:20"])]
#[case::short_fades(&["testsrc2=s=320x180:r=25:d=1,fade=out:19:6", "mandelbrot=s=320x180:r=25,trim=end_frame=40,fade=in:0:6"])]
#[case::dissolve(&["testsrc2=s=320x180:r=25:d=1.6[a];mandelbrot=s=320x180:r=25,trim=end_frame=40[b];[a][b]xfade=offset=0.8:duration=0.4"])]
fn nothing_else_is_a_cut(#[case] parts: &[&str]) {
    let Some(directory) = directory() else { return };
    let path = join(directory.path(), "clip.y4m", parts);
    assert_eq!(cuts(&outcome(&request(&path))), [0; 0]);
}

/// The last speed crosses the picture in a fifth of a second.
#[rstest]
fn a_pan_is_not_a_cut(#[values(4, 16, 64)] speed: u32) {
    let Some(directory) = directory() else { return };
    let turn = 960 / speed;
    let pan = format!("{STILL},crop=320:180:x=max(0\\,min(960\\,(n-5)*{speed})):y=200");
    let path = join(directory.path(), "clip.y4m", &[&pan]);
    assert!(turn > 4);
    assert_eq!(cuts(&outcome(&request(&path))), [0; 0]);
}

/// 85 frames with cuts at 20, 50 and 75.
fn three_cuts(directory: &Path, name: &str) -> PathBuf {
    join(directory, name, &[TEST, ZOOM, BOXES, BARS])
}

/// Chunks of 17 and of 12 frames: a cut is the first frame of a chunk, and within the frames that chunks read before theirs.
#[rstest]
fn chunks_threads_and_the_frame_step_do_not_change_shots(
    #[values(1, 5, 7, 17)] chunks: u32,
    #[values(1, 4)] threads: u32,
    #[values(1, 7)] step: u32,
) {
    let Some(directory) = directory() else { return };
    let mut request = request(&three_cuts(directory.path(), "clip.y4m"));
    (request.chunks, request.threads) = (chunks, threads);
    score_every(&mut request, step);
    assert_eq!(cuts(&outcome(&request)), [20, 50, 75]);
}

#[test]
fn a_cut_on_every_border_of_chunks_is_found() {
    let Some(directory) = directory() else { return };
    let parts = [
        "testsrc=s=320x180:r=25,trim=end_frame=10",
        "mandelbrot=s=320x180:r=25,trim=end_frame=10",
        "testsrc2=s=320x180:r=25,trim=end_frame=10",
        "smptebars=s=320x180:r=25,trim=end_frame=10",
    ];
    let mut request = request(&join(directory.path(), "clip.y4m", &parts));
    for chunks in [1, 2, 4] {
        request.chunks = chunks;
        assert_eq!(cuts(&outcome(&request)), [10, 20, 30], "{chunks} chunks");
    }
}

#[test]
fn a_decoded_clip_has_the_shots_of_its_content() {
    let Some(directory) = directory() else { return };
    let mut request = request(&three_cuts(directory.path(), "clip.mp4"));
    for chunks in [1, 3] {
        request.chunks = chunks;
        assert_eq!(cuts(&outcome(&request)), [20, 50, 75], "{chunks} chunks");
    }
}

#[rstest]
fn clips_of_a_ladder_have_the_shots_of_their_length(#[values(1, 3)] chunks: u32) {
    let Some(directory) = directory() else { return };
    let reference = three_cuts(directory.path(), "clip.y4m");
    let short =
        join(directory.path(), "short.y4m", &[TEST, ZOOM, "testsrc2=s=320x180:r=25,trim=end_frame=10"]);
    let mut request = request(&reference);
    request.distorted.push(Clip::new(&short));
    request.chunks = chunks;
    score_shortest(&mut request);
    let outcomes = run(&request).unwrap();
    assert_eq!(outcomes.iter().map(cuts).collect::<Vec<_>>(), [vec![20, 50, 75], vec![20, 50]]);
}

/// The reference is that of the pairs: frames before its offset do not count.
#[test]
fn shots_are_counted_from_the_first_pair() {
    let Some(directory) = directory() else { return };
    let mut request = request(&three_cuts(directory.path(), "clip.y4m"));
    (request.reference_offset, request.distorted_offset) = (8, 8);
    let outcome = outcome(&request);
    assert_eq!(outcome.shots.iter().map(|shot| shot.first_frame).collect::<Vec<_>>(), [0, 12, 42, 67]);
}
