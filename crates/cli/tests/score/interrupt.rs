//! Ctrl-C in the middle of it.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use vmafx_testkit::script;

use crate::command::{RAW, clip, names, score};

/// A decoder that reports through a named pipe that it has begun, and then never says anything more.
const HANGING_DECODER: &str = "#!/bin/sh\necho begun > \"$0.begun\"\nexec sleep 1000\n";

#[test]
fn ctrl_c_leaves_no_decoder_and_no_file() {
    let tools = tempfile::tempdir().unwrap();
    let decoder = tools.path().join("ffmpeg");
    script::write(&decoder, HANGING_DECODER).unwrap();
    let pipe = tools.path().join("ffmpeg.begun");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();

    let reports = tempfile::tempdir().unwrap();
    let mut command = score();
    command.arg(clip("ref_160x90.yuv")).arg(clip("dis_160x90.yuv")).args(RAW);
    // Scaling needs the decoder, on both sides.
    command.args(["--scale-to", "320x180", "--report"]).arg(reports.path().join("r.html"));
    let child = command
        .env("VMAFX_FFMPEG_BIN", &decoder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();

    // Returns when a decoder has begun; then the program waits for a frame that never comes.
    assert!(!fs::read_to_string(&pipe).unwrap().is_empty());
    assert!(inheritors(&decoder) >= 2, "the program and a decoder");
    let program = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(program, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(inheritors(&decoder), 0, "a decoder is still there");
    assert!(names(reports.path()).is_empty());
}

/// How many processes have the decoder's path in their environment: the program and all that it started.
fn inheritors(decoder: &Path) -> usize {
    let needle = decoder.as_os_str().as_encoded_bytes();
    let has = |environment: &[u8]| environment.windows(needle.len()).any(|window| window == needle);
    // A process that ends meanwhile, or that belongs to somebody else, cannot be read and is none of ours.
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|process| fs::read(process.path().join("environ")).is_ok_and(|all| has(&all))).count()
}
