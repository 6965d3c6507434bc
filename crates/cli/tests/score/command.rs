//! Runs `vmafx score`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use vmafx_testkit::command::CommandOutput;

/// The options that describe the 160x90 clips.
pub(crate) const RAW: [&str; 4] = ["--size", "160x90", "--pixel-format", "yuv420p"];

/// A clip of the scoring crate's test data.
pub(crate) fn clip(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data").join(name)
}

/// `vmafx score`, without the variables that would change its output.
pub(crate) fn score() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vmafx"));
    command.arg("score").stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("VMAFX_FFMPEG_BIN");
    // Errors must not contain a backtrace, even if the user has enabled backtraces.
    command.env("RUST_BACKTRACE", "1");
    command
}

pub(crate) fn golden_pair(options: &[&str]) -> CommandOutput {
    let mut command = score();
    command.arg(clip("ref_160x90.yuv")).arg(clip("dis_160x90.yuv")).args(RAW).args(options);
    CommandOutput::of(&mut command)
}

pub(crate) fn score_with<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> CommandOutput {
    CommandOutput::of(score().args(arguments))
}

pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
