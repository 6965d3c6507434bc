//! One `go build`, at most once per machine.

use std::fs::{self, File, TryLockError};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::Binary;
use crate::kube::process::{self, Launch, Process, ProcessError};

/// Why a build failed.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No Go on this machine.
    #[error(
        "there is no `go` in PATH: install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to a directory that holds \
         the program"
    )]
    NoGo,
    /// The compiler, or the module download, said no.
    #[error("go build failed:\n{log}")]
    Failed {
        /// The end of what it printed.
        log: String,
    },
    /// Go could not be started.
    #[error("go could not be started")]
    Start(#[source] ProcessError),
    /// The cache cannot be used.
    #[error("the cache directory {} cannot be used", .path.display())]
    Cache {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Builds one program to `target`, unless another process has done so in the meantime.
pub(super) fn build(binary: Binary, target: &Path) -> Result<(), BuildError> {
    let directory = target.parent().unwrap_or(Path::new("."));
    let cache = |source| BuildError::Cache { path: directory.to_owned(), source };
    let go = process::find_program("go").ok_or(BuildError::NoGo)?;

    fs::create_dir_all(directory).map_err(cache)?;
    // One lock per program: two processes that want the same build it once; different ones do not wait.
    let lock = File::create(directory.join(format!(".{}.lock", binary.name()))).map_err(cache)?;
    wait_for(&lock, binary).map_err(cache)?;
    if target.is_file() {
        return Ok(());
    }

    // Beside the target, so that the rename is atomic, and of a fixed name, so that what a killed build left
    // behind is replaced by the next one instead of piling up. The lock makes it ours alone.
    let work = directory.join(format!(".build-{}", binary.name()));
    let _ = fs::remove_dir_all(&work);
    fs::create_dir(&work).map_err(cache)?;
    for (name, content) in binary.module_files() {
        fs::write(work.join(name), content).map_err(cache)?;
    }
    let launch = Launch::new(binary.name(), go, work.join("log"))
        .args(["build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags"])
        .arg(binary.ldflags())
        .args(["-o", "output"])
        .arg(binary.package())
        .directory(&work)
        .env("CGO_ENABLED", "0")
        // A go.work above the cache directory would replace the pins.
        .env("GOWORK", "off");

    let progress = Progress::start(binary);
    let mut process = Process::start(&launch).map_err(BuildError::Start)?;
    let status = process.wait().map_err(cache)?;
    if !status.success() {
        progress.finish("failed");
        return Err(BuildError::Failed { log: process.log_tail() });
    }
    fs::rename(work.join("output"), target).map_err(cache)?;
    let _ = fs::remove_dir_all(&work);
    progress.finish("");
    Ok(())
}

fn wait_for(lock: &File, binary: Binary) -> io::Result<()> {
    match lock.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            say(&format!("another process builds {}; waiting for it", binary.name()));
            lock.lock()
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// A spinner on a terminal, plain lines elsewhere.
struct Progress {
    what: String,
    started: Instant,
    spinner: Option<ProgressBar>,
}

impl Progress {
    fn start(binary: Binary) -> Self {
        let what = format!("building {} {} …", binary.name(), binary.version());
        let spinner = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            let spinner = ProgressBar::new_spinner().with_style(style).with_message(what.clone());
            spinner.enable_steady_tick(Duration::from_millis(120));
            spinner
        });
        if spinner.is_none() {
            say(&what);
        }
        Self { what, started: Instant::now(), spinner }
    }

    fn finish(self, how: &str) {
        if let Some(spinner) = self.spinner {
            spinner.finish_and_clear();
        }
        let seconds = self.started.elapsed().as_secs();
        say(format!("{} {}m{:02}s {how}", self.what, seconds / 60, seconds % 60).trim_end());
    }
}

/// Past the test harness's capture: a test that seems to hang for five minutes must say why.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
