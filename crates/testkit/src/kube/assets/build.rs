//! Building a program with `go build`, at most once per machine.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::Binary;
use crate::kube::process::{self, ChildCommand, ChildProcess, ProcessError};

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(
        "there is no `go` in PATH: install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to a directory that holds \
         the program"
    )]
    NoGo,
    #[error("go build failed:\n{log}")]
    Failed { log: String },
    #[error("cannot start go")]
    Start(#[source] ProcessError),
    #[error("cannot use the cache directory {}", .path.display())]
    Cache {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The flags of a build that its packages in Go's cache depend on.
const COMPILE_FLAGS: [&str; 3] = ["-trimpath", "-buildvcs=false", "-mod=readonly"];

/// The variables that they depend on. A `go.work` above the cache directory would replace the pins.
const COMPILE_VARIABLES: [(&str, &str); 2] = [("CGO_ENABLED", "0"), ("GOWORK", "off")];

/// Builds one program to `target`, unless another process has done so in the meantime.
pub(super) fn build(binary: Binary, target: &Path) -> Result<(), BuildError> {
    let directory = target.parent().unwrap_or(Path::new("."));
    let cache = |source| BuildError::Cache { path: directory.to_owned(), source };
    let go = process::find_program("go").ok_or(BuildError::NoGo)?;

    fs::create_dir_all(directory).map_err(cache)?;
    // One lock per program: two processes that need the same program build it once, and others do not wait.
    let lock = File::create(directory.join(format!(".{}.lock", binary.name()))).map_err(cache)?;
    lock_exclusively(&lock, binary).map_err(cache)?;
    if target.is_file() {
        return Ok(());
    }

    // In the same directory as the target, so that the rename is atomic; with a fixed name, so that the next build
    // replaces what a killed one left behind. The lock excludes other users.
    let work = directory.join(format!(".build-{}", binary.name()));
    let _ = fs::remove_dir_all(&work);
    fs::create_dir(&work).map_err(cache)?;
    for (name, content) in binary.module_files() {
        fs::write(work.join(name), content).map_err(cache)?;
    }
    let command = ChildCommand::new(binary.name(), go, work.join("log"))
        .arg("build")
        .args(COMPILE_FLAGS)
        .arg("-ldflags")
        .arg(binary.ldflags())
        .args(["-o", "output"])
        .arg(binary.package())
        .directory(&work);
    let command = COMPILE_VARIABLES.iter().fold(command, |command, (name, value)| command.env(name, value));

    let progress = BuildProgress::start(binary);
    let mut process = ChildProcess::start(&command).map_err(BuildError::Start)?;
    let status = process.wait().map_err(cache)?;
    if !status.success() {
        progress.finish("failed");
        return Err(BuildError::Failed { log: process.log_tail() });
    }
    fs::rename(work.join("output"), target).map_err(cache)?;
    let _ = fs::remove_dir_all(&work);
    progress.finish("done");
    Ok(())
}

fn lock_exclusively(lock: &File, binary: Binary) -> io::Result<()> {
    match lock.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            print_uncaptured(&format!("waiting for another process that builds {}", binary.name()));
            lock.lock()
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Interval of the lines that show that a build goes on.
const TICK: Duration = Duration::from_secs(8);

/// Prints a line at the start, every [`TICK`] and at the end of a build. Plain lines, because cargo may draw its own
/// progress on the same terminal.
struct BuildProgress {
    what: String,
    started: Instant,
    /// The ticking thread ends when this is dropped.
    stop: Sender<()>,
}

impl BuildProgress {
    fn start(binary: Binary) -> Self {
        let what = format!("building {} {}", binary.name(), binary.version());
        print_uncaptured(&what);
        let ((stop, stopped), started, line) = (mpsc::channel(), Instant::now(), what.clone());
        thread::spawn(move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                print_uncaptured(&format!("{line}: {}", elapsed(started)));
            }
        });
        Self { what, started, stop }
    }

    fn finish(self, result: &str) {
        drop(self.stop);
        print_uncaptured(&format!("{}: {result} after {}", self.what, elapsed(self.started)));
    }
}

fn elapsed(since: Instant) -> String {
    let seconds = since.elapsed().as_secs();
    format!("{}m{:02}s", seconds / 60, seconds % 60)
}

/// Writes past the test harness's capture, so that a test that builds for minutes does not seem to hang.
fn print_uncaptured(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREBUILD: &str = include_str!("../../../../../scripts/prebuild");

    #[test]
    fn the_packages_that_make_run_compiles_early_are_those_of_the_build() {
        let flags = COMPILE_FLAGS.join(" ");
        assert!(PREBUILD.contains(&format!("go list -export {flags} ")), "{flags}");
        let variables = COMPILE_VARIABLES.map(|(name, value)| format!("{name}={value}")).join(" ");
        assert!(PREBUILD.contains(&format!("export {variables}\n")), "{variables}");
    }

    #[test]
    fn make_run_compiles_the_programs_of_a_control_plane_early() {
        for binary in Binary::CONTROL_PLANE {
            let row = format!("\"{} {} {}\"", binary.name(), binary.package(), binary.versioned_by());
            assert!(PREBUILD.contains(&row), "{row}");
        }
    }
}
