//! Runs the program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The describing options of the 160x90 clips.
pub(crate) const RAW: [&str; 4] = ["--size", "160x90", "--pixel-format", "yuv420p"];

/// A clip of the scoring crate's test data.
pub(crate) fn clip(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data").join(name)
}

/// `vmafx score`, with an environment in which nothing surprises.
pub(crate) fn score() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vmafx"));
    command.arg("score").stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("VMAFX_FFMPEG_BIN");
    // Nobody wants to read one, and somebody always has it set.
    command.env("RUST_BACKTRACE", "1");
    command
}

/// The golden pair with more options.
pub(crate) fn golden_pair(options: &[&str]) -> Ran {
    let mut command = score();
    command.arg(clip("ref_160x90.yuv")).arg(clip("dis_160x90.yuv")).args(RAW).args(options);
    ran(&mut command)
}

/// `vmafx score` with these arguments.
pub(crate) fn score_with<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    ran(score().args(arguments))
}

/// What the program did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn ran(command: &mut Command) -> Ran {
    let Output { status, stdout, stderr } = command.output().unwrap();
    Ran {
        code: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

/// The names in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
