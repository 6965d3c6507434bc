//! The decoder process always ends, and its end is reported.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vmafx_scoring::input::{Clip, FrameSource, InputError, ReadOptions, Tools, open, probe, probe_stoppable};

use crate::support::{PictureBuffer, TestDirectory, drain, small, tools, tools_that};

/// A clip that takes longer to decode than a test runs.
fn endless(directory: &TestDirectory) -> (Clip, Box<dyn FrameSource>) {
    let short = directory.encode(
        "short.mp4",
        250,
        &["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"],
    );
    let one = std::fs::read(directory.convert(&short, "short.264", &["-c", "copy"])).unwrap();
    let clip = Clip::new(directory.write("long.264", &one.repeat(40)));
    let found = probe(&clip, &tools()).unwrap();
    let source = open(&clip, &found, &ReadOptions::whole(found.format), &tools()).unwrap();
    (clip, source)
}

/// The processes that have this text in their command line.
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

/// Tools with a script in the place of `ffmpeg` that probes like the real one and then runs `script`.
fn tools_with(directory: &TestDirectory, script: &str) -> Tools {
    let real = tools().ffmpeg().unwrap().to_owned();
    tools_that(
        directory,
        &format!(
            "case \"$*\" in *'-f null'*) exec '{0}' \"$@\";; esac\nREAL='{0}'\n{script}",
            real.display()
        ),
    )
}

fn clip(directory: &TestDirectory) -> PathBuf {
    directory.encode("a.mp4", 10, &["-c:v", "libx264", "-pix_fmt", "yuv420p"])
}

fn failure(path: &Path, tools: &Tools) -> (usize, InputError) {
    let clip = Clip::new(path);
    let found = probe(&clip, tools).unwrap();
    let mut source = open(&clip, &found, &ReadOptions::whole(found.format), tools).unwrap();
    let delivered = drain(&mut *source);
    (delivered.frames.len(), delivered.end.unwrap_err())
}

#[test]
fn a_decoder_that_dies_within_a_frame_is_an_error_with_its_last_log_lines() {
    let directory = TestDirectory::new();
    let path = clip(&directory);
    let tools = tools_with(
        &directory,
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
    let directory = TestDirectory::new();
    let path = clip(&directory);
    let script = "printf 'YUV4MPEG2 W160 H120 F25:1 C420\\n'; for i in 1 2; do echo FRAME; head -c 28800 /dev/zero; done";
    let tools = tools_with(&directory, &format!("{script}; kill -9 $$"));
    let (frames, error) = failure(&path, &tools);
    assert_eq!(frames, 2);
    assert!(error.to_string().contains("ffmpeg was killed by signal 9"), "{error}");
    assert!(error.is_retryable(), "the clip is not the cause");
}

#[test]
fn a_decoder_that_ends_within_a_frame_with_a_good_status_is_an_error() {
    let directory = TestDirectory::new();
    let path = clip(&directory);
    let tools = tools_with(&directory, "\"$REAL\" \"$@\" 2>/dev/null | head -c 100000; exit 0");
    let (frames, error) = failure(&path, &tools);
    assert_eq!(frames, 3);
    assert!(error.to_string().contains("ffmpeg ended within a frame"), "{error}");
}

#[test]
fn a_decoder_that_delivers_another_format_is_an_error() {
    let directory = TestDirectory::new();
    let path = clip(&directory);
    let tools = tools_with(&directory, "printf 'YUV4MPEG2 W160 H118 F25:1 C420\\nFRAME\\n'; cat /dev/zero");
    let (frames, error) = failure(&path, &tools);
    assert_eq!(frames, 0);
    assert!(matches!(error, InputError::Delivered { .. }), "{error}");
}

#[test]
fn a_decoder_that_writes_nothing_delivers_no_frames() {
    let directory = TestDirectory::new();
    let path = clip(&directory);
    let (_, error) = failure(&path, &tools_with(&directory, "exit 0"));
    assert!(matches!(error, InputError::NoFrames { .. }), "{error}");
}

#[test]
fn a_decoder_with_an_endless_log_neither_blocks_nor_fills_the_memory() {
    let directory = TestDirectory::new();
    let path = clip(&directory);
    let script = "head -c 30000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo '[fatal] enough' >&2; exit 1";
    let (_, error) = failure(&path, &tools_with(&directory, script));
    let InputError::Decoder { stderr, .. } = error else { panic!("{error}") };
    assert!(stderr.len() < 8192 && stderr.ends_with("enough"), "{}", stderr.len());
}

#[test]
fn dropping_a_source_leaves_no_process() {
    let directory = TestDirectory::new();
    let (clip, mut source) = endless(&directory);
    let name = clip.path.to_str().unwrap().to_owned();
    assert!(source.read(&mut PictureBuffer::new(small(), 0).planes()).unwrap());
    assert_eq!(processes_with(&name).len(), 1);
    drop(source);
    assert!(processes_with(&name).is_empty());
}

#[test]
fn dropping_a_source_also_kills_the_children_of_a_wrapper_script() {
    let directory = TestDirectory::new();
    let clip = Clip::new(clip(&directory));
    let marker = directory.write("marker", b"");
    let marker = marker.to_str().unwrap();
    let frame = "printf 'YUV4MPEG2 W160 H120 F25:1 C420\\nFRAME\\n'; head -c 28800 /dev/zero";
    let tools = tools_with(&directory, &format!("tail -f '{marker}' & {frame}; wait"));
    let found = probe(&clip, &tools).unwrap();
    let mut source = open(&clip, &found, &ReadOptions::whole(found.format), &tools).unwrap();
    assert!(source.read(&mut PictureBuffer::new(small(), 0).planes()).unwrap());
    drop(source);
    assert!(processes_with(marker).is_empty());
}

#[test]
fn stopping_wakes_a_reader_that_waits_in_the_middle_of_a_frame() {
    let directory = TestDirectory::new();
    let size = ["-vf", "scale=640:480", "-c:v", "libx264", "-pix_fmt", "yuv420p"];
    let clip = Clip::new(directory.encode("a.mp4", 2, &size));
    // The script writes more than a pipe holds, so when it comes to its last line, the reader has begun the frame, and the rest
    // of it never comes.
    let signal = directory.path("signal");
    assert!(Command::new("mkfifo").arg(&signal).status().unwrap().success());
    let part = "printf 'YUV4MPEG2 W640 H480 F25:1 C420\\nFRAME\\n'; head -c 400000 /dev/zero";
    let tools = tools_with(&directory, &format!("{part}; echo > '{}'; tail -f /dev/null", signal.display()));
    let found = probe(&clip, &tools).unwrap();
    let mut source = open(&clip, &found, &ReadOptions::whole(found.format), &tools).unwrap();
    let handle = source.stop_handle();
    let mut buffer = PictureBuffer::new(found.format, 0);
    let reader = std::thread::spawn(move || source.read(&mut buffer.planes()));
    std::fs::read(signal).unwrap();
    handle.stop();
    assert!(matches!(reader.join().unwrap(), Err(InputError::Stopped { .. })));
    handle.stop();
}

#[test]
fn a_stopped_source_says_so_and_not_that_the_decoder_failed() {
    let directory = TestDirectory::new();
    let (clip, mut source) = endless(&directory);
    assert!(source.skip().unwrap());
    source.stop_handle().stop();
    let delivered = drain(&mut *source);
    assert!(matches!(delivered.end, Err(InputError::Stopped { path }) if path == clip.path));
}

#[test]
fn a_probe_beyond_its_deadline_is_killed_with_its_children() {
    let directory = TestDirectory::new();
    let marker = directory.write("a.mp4", b"not looked at");
    let clip = Clip::new(&marker);
    let tools = tools_that(&directory, &format!("tail -f '{}' & wait", marker.display()));
    let tools = tools.with_probe_deadline(Duration::from_millis(300));
    let error = probe(&clip, &tools).unwrap_err();
    assert!(matches!(error, InputError::ProbeTimeout { .. }), "{error}");
    assert!(error.to_string().contains("within 0.3 s what"), "{error}");
    assert!(processes_with(marker.to_str().unwrap()).is_empty());
}

#[test]
fn a_probe_can_be_stopped() {
    let directory = TestDirectory::new();
    let clip = Clip::new(directory.write("a.mp4", b"not looked at"));
    let tools = tools_that(&directory, "tail -f /dev/null");
    let error = probe_stoppable(&clip, &tools, &|handle| handle.stop()).unwrap_err();
    assert!(matches!(error, InputError::Stopped { .. }), "{error}");
}

/// Not a test by itself, but the process that the next test kills.
#[test]
fn helper_that_decodes_until_it_is_killed() {
    let Ok(path) = std::env::var("VMAFX_TEST_DECODE") else { return };
    let clip = Clip::new(path);
    let found = probe(&clip, &tools()).unwrap();
    let mut source = open(&clip, &found, &ReadOptions::whole(found.format), &tools()).unwrap();
    assert!(source.skip().unwrap());
    eprintln!("decoding");
    // Waits here while the decoder is blocked by a full pipe.
    _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_decoder_does_not_outlive_a_process_that_is_killed() {
    use std::io::{BufRead, BufReader};

    let directory = TestDirectory::new();
    let (clip, source) = endless(&directory);
    drop(source);
    let name = clip.path.to_str().unwrap();
    // This name works even if a build has replaced the file meanwhile.
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
    // A process that has ended and is not reaped yet has no command line.
    let deadline = Instant::now() + Duration::from_mins(1);
    while !processes_with(&format!("file:{name}")).is_empty() {
        assert!(Instant::now() < deadline, "the decoder outlives its owner");
        std::thread::sleep(Duration::from_millis(20));
    }
}
