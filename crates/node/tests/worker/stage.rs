//! A scratch directory, tasks about it, and programs that play worker or decoder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use vmafx_node::failure::Failure;
use vmafx_node::launch::{Launcher, Unscored};
use vmafx_node::task::{Input, Limits, Model, RawVideo, ScaleTo, Score, Task};
use vmafx_scoring::input::Tools;
use vmafx_testkit::script;
use vmafx_testkit::wait::until;

/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_mins(2);

/// The real program.
pub(crate) fn node() -> PathBuf {
    env!("CARGO_BIN_EXE_vmafx-node").into()
}

/// A clip of Netflix's.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data").join(name).canonicalize().unwrap()
}

/// The `ffmpeg` of this machine.
pub(crate) fn ffmpeg() -> PathBuf {
    let tools = Tools::from_process_env();
    tools.ffmpeg().expect("these tests need ffmpeg: install it or set VMAFX_FFMPEG_BIN").to_owned()
}

pub(crate) struct Stage {
    directory: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let stage = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(stage.scratch()).unwrap();
        stage
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.directory.path().join("scratch")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// A program in the language of the shell.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        script::write(&path, &format!("#!/bin/bash\n{text}\n")).unwrap();
        path
    }

    /// A clip of moving test pictures.
    pub(crate) fn encode(&self, name: &str, size: &str, frames: u32, arguments: &[&str]) -> PathBuf {
        let path = self.path(name);
        let output = Command::new(ffmpeg())
            .args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y", "-f", "lavfi", "-i"])
            .arg(format!("testsrc2=size={size}:rate=25"))
            .args(["-frames:v", &frames.to_string()])
            .args(arguments)
            .arg(&path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        path
    }

    /// A comparison of two files that say themselves what they are.
    pub(crate) fn task(&self, reference: &Path, distorted: &Path) -> Task {
        let input = |path: &Path, name: &str| Input {
            path: path.into(),
            file: None,
            name: name.to_owned(),
            raw: None,
        };
        Task {
            reference: input(reference, "s3://bucket/reference"),
            distorted: input(distorted, "s3://bucket/distorted"),
            model: Model::BuiltIn("vmaf_v0.6.1".to_owned()),
            features: Vec::new(),
            frame_step: 1,
            scale_to: ScaleTo::Reference,
            shortest: false,
            threads: 2,
            report: None,
            ffmpeg: Some(ffmpeg()),
            engine: None,
            limits: Limits {
                memory_bytes: 1 << 30,
                cpu_seconds: 600,
                file_bytes: 1 << 30,
                scratch: self.scratch(),
            },
        }
    }

    /// The smaller pair of Netflix's.
    pub(crate) fn golden_task(&self) -> Task {
        let mut task = self.task(&golden("ref_160x90.yuv"), &golden("dis_160x90.yuv"));
        let raw = RawVideo { width: 160, height: 90, pixel_format: "yuv420p".to_owned(), bit_depth: 8 };
        task.reference.raw = Some(raw.clone());
        task.distorted.raw = Some(raw);
        task
    }

    /// Waits until no process of this stage is left.
    pub(crate) async fn wait_until_empty(&self) {
        until(LONG, "no process of the job is left", async || {
            let left = processes_in(&self.scratch());
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await
        .unwrap();
    }
}

/// Processes that were started for a scratch directory, by what stands in their environment: id and name.
pub(crate) fn processes_in(scratch: &Path) -> Vec<(u32, String)> {
    let mark = format!("TMPDIR={}\0", scratch.display()).into_bytes();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|part| part == mark)
        })
        .map(|id| (id, fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default().trim().to_owned()))
        .collect()
}

/// Runs a task with the real worker.
pub(crate) async fn run(task: &Task) -> Result<Score, Unscored> {
    run_with(&Launcher::new(node()), task).await
}

pub(crate) async fn run_with(launcher: &Launcher, task: &Task) -> Result<Score, Unscored> {
    launcher.run(task, |_, _| {}, &CancellationToken::new(), LONG, Some(LONG)).await
}

/// The failure of a job that fails. It tells no path of this machine.
pub(crate) async fn failure(stage: &Stage, task: &Task) -> Failure {
    failure_of(stage, run(task).await)
}

pub(crate) fn failure_of(stage: &Stage, result: Result<Score, Unscored>) -> Failure {
    match result {
        Err(Unscored::Failed(failure)) => {
            let home = stage.directory.path().display().to_string();
            assert!(!failure.message.contains(&home), "a path leaks: {}", failure.message);
            failure
        }
        other => panic!("no failure: {other:?}"),
    }
}
