//! Ctrl-C during a run.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use vmafx_testkit::command::interrupt;
use vmafx_testkit::script;

use crate::command::{RAW, clip, names, score};

/// A decoder that reports its start through a named pipe and then hangs.
const HANGING_DECODER: &str = "#!/bin/sh\necho started > \"$0.started\"\nexec sleep 1000\n";

#[test]
fn ctrl_c_leaves_no_decoder_and_no_file() {
    let tools = tempfile::tempdir().unwrap();
    let decoder = tools.path().join("ffmpeg");
    script::write(&decoder, HANGING_DECODER).unwrap();
    let pipe = tools.path().join("ffmpeg.started");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();

    let reports = tempfile::tempdir().unwrap();
    let mut command = score();
    command.arg(clip("ref_160x90.yuv")).arg(clip("dis_160x90.yuv")).args(RAW);
    // Scaling starts the decoder for both clips.
    command.args(["--scale-to", "320x180", "--report"]).arg(reports.path().join("r.html"));
    let child = command
        .env("VMAFX_FFMPEG_BIN", &decoder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();

    // This returns when a decoder has started. The program then waits for a frame that never comes.
    assert!(!fs::read_to_string(&pipe).unwrap().is_empty());
    assert!(processes_of(&decoder) >= 2, "the program and a decoder");
    interrupt(&child);
    let output = child.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(processes_of(&decoder), 0, "a decoder is still running");
    assert!(names(reports.path()).is_empty());
}

/// The number of processes with the decoder's path in their environment: the program and its children.
fn processes_of(decoder: &Path) -> usize {
    let needle = decoder.as_os_str().as_encoded_bytes();
    let has = |environment: &[u8]| environment.windows(needle.len()).any(|window| window == needle);
    // A process that has ended or that belongs to another user cannot be read, and does not count.
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|process| fs::read(process.path().join("environ")).is_ok_and(|all| has(&all))).count()
}
