//! The decoder process: how it dies, and that it always does.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vmafx_scoring::input::{Clip, FrameSource, InputError, Reading, Tools, open, probe, probe_stoppable};

use crate::support::{Room, Stage, drain, small, tools, tools_that};

/// A clip far too long to be decoded while a test runs.
fn endless(stage: &Stage) -> (Clip, Box<dyn FrameSource>) {
    let short =
        stage.encode("short.mp4", 250, &["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]);
    let one = std::fs::read(stage.convert(&short, "short.264", &["-c", "copy"])).unwrap();
    let clip = Clip::new(stage.write("long.264", &one.repeat(40)));
    let found = probe(&clip, &tools()).unwrap();
    let source = open(&clip, &found, &Reading::whole(found.format), &tools()).unwrap();
    (clip, source)
}

/// The processes that have this in their command line, read from the kernel.
fn processes_with(text: &str) -> Vec<u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|id: &u32| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(text)
        })
        .collect()
}

/// Tools with a program of our own in the place of `ffmpeg`: it probes like the real one, then does as told.
fn tools_with(stage: &Stage, script: &str) -> Tools {
    let real = tools().ffmpeg().unwrap().to_owned();
    tools_that(
        stage,
        &format!(
            "case \"$*\" in *'-f null'*) exec '{0}' \"$@\";; esac\nREAL='{0}'\n{script}",
            real.display()
        ),
    )
}

fn clip(stage: &Stage) -> PathBuf {
    stage.encode("a.mp4", 10, &["-c:v", "libx264", "-pix_fmt", "yuv420p"])
}

fn failure(path: &Path, tools: &Tools) -> (usize, InputError) {
    let clip = Clip::new(path);
    let found = probe(&clip, tools).unwrap();
    let mut source = open(&clip, &found, &Reading::whole(found.format), tools).unwrap();
    let delivered = drain(&mut *source);
    (delivered.frames.len(), delivered.end.unwrap_err())
}

#[test]
fn a_decoder_that_dies_within_a_frame_is_an_error_with_its_last_words() {
    let stage = Stage::new();
    let path = clip(&stage);
    let tools = tools_with(
        &stage,
        "\"$REAL\" \"$@\" 2>/dev/null | head -c 100000; echo '[fatal] out of luck' >&2; exit 3",
    );
    let (frames, error) = failure(&path, &tools);
    assert_eq!(frames, 3);
    let text = error.to_string();
    for part in ["a.mp4", "failed at frame 3", "ffmpeg exited with status 3", "out of luck"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_decoder_that_is_killed_between_frames_is_an_error() {
    let stage = Stage::new();
    let path = clip(&stage);
    let script = "printf 'YUV4MPEG2 W160 H120 F25:1 C420\\n'; for i in 1 2; do echo FRAME; head -c 28800 /dev/zero; done";
    let tools = tools_with(&stage, &format!("{script}; kill -9 $$"));
    let (frames, error) = failure(&path, &tools);
    assert_eq!(frames, 2);
    assert!(error.to_string().contains("ffmpeg was killed by signal 9"), "{error}");
    assert!(error.is_retryable(), "it is not the clip's fault");
}

#[test]
fn a_decoder_that_ends_within_a_frame_with_a_good_status_is_an_error() {
    let stage = Stage::new();
    let path = clip(&stage);
    let tools = tools_with(&stage, "\"$REAL\" \"$@\" 2>/dev/null | head -c 100000; exit 0");
    let (frames, error) = failure(&path, &tools);
    assert_eq!(frames, 3);
    assert!(error.to_string().contains("ffmpeg ended within a frame"), "{error}");
}

#[test]
fn a_decoder_that_delivers_another_shape_is_an_error() {
    let stage = Stage::new();
    let path = clip(&stage);
    let tools = tools_with(&stage, "printf 'YUV4MPEG2 W160 H118 F25:1 C420\\nFRAME\\n'; cat /dev/zero");
    let (frames, error) = failure(&path, &tools);
    assert_eq!(frames, 0);
    assert!(matches!(error, InputError::Delivered { .. }), "{error}");
}

#[test]
fn a_decoder_that_says_nothing_at_all_delivers_no_frames() {
    let stage = Stage::new();
    let path = clip(&stage);
    let (_, error) = failure(&path, &tools_with(&stage, "exit 0"));
    assert!(matches!(error, InputError::NoFrames { .. }), "{error}");
}

#[test]
fn a_decoder_that_talks_without_end_does_not_block_or_fill_the_memory() {
    let stage = Stage::new();
    let path = clip(&stage);
    let script = "head -c 30000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo '[fatal] enough' >&2; exit 1";
    let (_, error) = failure(&path, &tools_with(&stage, script));
    let InputError::Decoder { stderr, .. } = error else { panic!("{error}") };
    assert!(stderr.len() < 8192 && stderr.ends_with("enough"), "{}", stderr.len());
}

#[test]
fn dropping_a_source_leaves_no_process() {
    let stage = Stage::new();
    let (clip, mut source) = endless(&stage);
    let name = clip.path.to_str().unwrap().to_owned();
    assert!(source.read(&mut Room::new(small(), 0).planes()).unwrap());
    assert_eq!(processes_with(&name).len(), 1);
    drop(source);
    assert!(processes_with(&name).is_empty());
}

#[test]
fn dropping_a_source_also_ends_what_a_wrapper_script_started() {
    let stage = Stage::new();
    let clip = Clip::new(clip(&stage));
    let marker = stage.write("marker", b"");
    let marker = marker.to_str().unwrap();
    let frame = "printf 'YUV4MPEG2 W160 H120 F25:1 C420\\nFRAME\\n'; head -c 28800 /dev/zero";
    let tools = tools_with(&stage, &format!("tail -f '{marker}' & {frame}; wait"));
    let found = probe(&clip, &tools).unwrap();
    let mut source = open(&clip, &found, &Reading::whole(found.format), &tools).unwrap();
    assert!(source.read(&mut Room::new(small(), 0).planes()).unwrap());
    drop(source);
    assert!(processes_with(marker).is_empty());
}

#[test]
fn stopping_wakes_a_reader_that_waits_in_the_middle_of_a_frame() {
    let stage = Stage::new();
    let size = ["-vf", "scale=640:480", "-c:v", "libx264", "-pix_fmt", "yuv420p"];
    let clip = Clip::new(stage.encode("a.mp4", 2, &size));
    // More than a pipe holds goes out only when somebody reads it. So when the script comes to its last line, the reader
    // has begun the frame, and it will never get the rest.
    let told = stage.path("told");
    assert!(Command::new("mkfifo").arg(&told).status().unwrap().success());
    let part = "printf 'YUV4MPEG2 W640 H480 F25:1 C420\\nFRAME\\n'; head -c 400000 /dev/zero";
    let tools = tools_with(&stage, &format!("{part}; echo > '{}'; tail -f /dev/null", told.display()));
    let found = probe(&clip, &tools).unwrap();
    let mut source = open(&clip, &found, &Reading::whole(found.format), &tools).unwrap();
    let stopper = source.stopper();
    let mut room = Room::new(found.format, 0);
    let reader = std::thread::spawn(move || source.read(&mut room.planes()));
    std::fs::read(told).unwrap();
    stopper.stop();
    assert!(matches!(reader.join().unwrap(), Err(InputError::Stopped { .. })));
    stopper.stop();
}

#[test]
fn a_stopped_source_says_so_and_not_that_the_decoder_failed() {
    let stage = Stage::new();
    let (clip, mut source) = endless(&stage);
    assert!(source.skip().unwrap());
    source.stopper().stop();
    let delivered = drain(&mut *source);
    assert!(matches!(delivered.end, Err(InputError::Stopped { path }) if path == clip.path));
}

#[test]
fn a_probe_that_does_not_end_is_given_up_with_all_it_started() {
    let stage = Stage::new();
    let marker = stage.write("a.mp4", b"not looked at");
    let clip = Clip::new(&marker);
    let tools = tools_that(&stage, &format!("tail -f '{}' & wait", marker.display()));
    let tools = tools.with_probe_deadline(Duration::from_millis(300));
    let error = probe(&clip, &tools).unwrap_err();
    assert!(matches!(error, InputError::ProbeTimeout { .. }), "{error}");
    assert!(error.to_string().contains("within 0.3 s what"), "{error}");
    assert!(processes_with(marker.to_str().unwrap()).is_empty());
}

#[test]
fn a_probe_can_be_stopped() {
    let stage = Stage::new();
    let clip = Clip::new(stage.write("a.mp4", b"not looked at"));
    let tools = tools_that(&stage, "tail -f /dev/null");
    let error = probe_stoppable(&clip, &tools, &|stopper| stopper.stop()).unwrap_err();
    assert!(matches!(error, InputError::Stopped { .. }), "{error}");
}

/// Not a test by itself: the process that the next test kills.
#[test]
fn helper_that_decodes_until_it_is_killed() {
    let Ok(path) = std::env::var("VMAFX_TEST_DECODE") else { return };
    let clip = Clip::new(path);
    let found = probe(&clip, &tools()).unwrap();
    let mut source = open(&clip, &found, &Reading::whole(found.format), &tools()).unwrap();
    assert!(source.skip().unwrap());
    eprintln!("decoding");
    // Waits here, with the decoder blocked at a full pipe.
    _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_decoder_does_not_outlive_a_process_that_is_killed() {
    use std::io::{BufRead, BufReader};

    let stage = Stage::new();
    let (clip, source) = endless(&stage);
    drop(source);
    let name = clip.path.to_str().unwrap();
    // By this name it is found even if a build has replaced the file in the meantime.
    let mut helper = Command::new("/proc/self/exe")
        .args(["--exact", "process::helper_that_decodes_until_it_is_killed", "--nocapture"])
        .env("VMAFX_TEST_DECODE", name)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(helper.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "decoding"));
    let decoders = processes_with(&format!("file:{name}"));
    assert_eq!(decoders.len(), 1, "{decoders:?}");
    helper.kill().unwrap();
    helper.wait().unwrap();
    // One that has ended but is not reaped yet, by whoever inherits it, has no command line any more.
    let patience = Instant::now() + Duration::from_mins(1);
    while !processes_with(&format!("file:{name}")).is_empty() {
        assert!(Instant::now() < patience, "the decoder goes on alone");
        std::thread::sleep(Duration::from_millis(20));
    }
}
