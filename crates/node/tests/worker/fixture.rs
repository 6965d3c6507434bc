//! A scratch directory, tasks that use it, and scripts that replace a worker or a decoder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use vmafx_job::{BitDepth, Failure, PixelFormat, RawVideo, ScoreResult, ScoringOptions};
use vmafx_node::confine::ConfinementPolicy;
use vmafx_node::launch::{Launcher, Unscored};
use vmafx_node::task::{ClipFile, ModelSource, Task, WorkerLimits};
use vmafx_scoring::input::Tools;
use vmafx_testkit::script;
use vmafx_testkit::wait::until;

/// Longer than anything in these tests takes.
pub(crate) const LONG: Duration = Duration::from_mins(2);

pub(crate) fn node() -> PathBuf {
    env!("CARGO_BIN_EXE_vmafx-node").into()
}

/// A file of the golden data: clips and a model that Netflix publishes.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data").join(name).canonicalize().unwrap()
}

pub(crate) fn ffmpeg() -> PathBuf {
    let tools = Tools::from_process_env();
    tools.ffmpeg().expect("these tests need ffmpeg: install it or set VMAFX_FFMPEG_BIN").to_owned()
}

pub(crate) struct Fixture {
    directory: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let fixture = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(fixture.scratch()).unwrap();
        fixture
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

    /// An executable shell script.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        script::write(&path, &format!("#!/bin/bash\n{text}\n")).unwrap();
        path
    }

    /// Encodes a moving test pattern.
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

    /// A comparison of two clips that have headers.
    pub(crate) fn task(&self, reference: &Path, distorted: &Path) -> Task {
        let input = |path: &Path, name: &str| ClipFile {
            path: path.into(),
            file: None,
            name: name.to_owned(),
            raw: None,
        };
        Task {
            reference: input(reference, "s3://bucket/reference"),
            distorted: input(distorted, "s3://bucket/distorted"),
            model: ModelSource::BuiltIn("vmaf_v0.6.1".to_owned()),
            options: ScoringOptions::default(),
            threads: 2,
            report: None,
            ffmpeg: Some(ffmpeg()),
            features: vmafx_job::FeatureEngine::default(),
            engine: None,
            limits: WorkerLimits {
                memory_bytes: 1 << 30,
                cpu_seconds: 600,
                file_bytes: 1 << 30,
                scratch: self.scratch(),
            },
            confinement: ConfinementPolicy::Required,
        }
    }

    /// The smaller of the golden pairs.
    pub(crate) fn golden_task(&self) -> Task {
        let mut task = self.task(&golden("ref_160x90.yuv"), &golden("dis_160x90.yuv"));
        task.reference.raw = Some(raw(160, 90));
        task.distorted.raw = Some(raw(160, 90));
        task
    }

    /// Waits until no process of a job is left.
    pub(crate) async fn wait_until_empty(&self) {
        until(LONG, "no process of the job is left", async || {
            let left = processes_in(&self.scratch());
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await
        .unwrap();
    }
}

/// 4:2:0, 8 bit.
pub(crate) fn raw(width: u32, height: u32) -> RawVideo {
    RawVideo { width, height, pixel_format: PixelFormat::Yuv420p, bit_depth: BitDepth::Eight }
}

/// Processes of jobs that use a scratch directory, told by their environment: id and name.
pub(crate) fn processes_in(scratch: &Path) -> Vec<(u32, String)> {
    let variable = format!("TMPDIR={}\0", scratch.display()).into_bytes();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.windows(variable.len()).any(|part| part == variable)
        })
        .map(|id| (id, fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default().trim().to_owned()))
        .collect()
}

/// Runs a task with the real worker.
pub(crate) async fn run(task: &Task) -> Result<ScoreResult, Unscored> {
    run_with(&Launcher::new(node()), task).await
}

pub(crate) async fn run_with(launcher: &Launcher, task: &Task) -> Result<ScoreResult, Unscored> {
    launcher.run(task, |_, _| {}, &CancellationToken::new(), LONG, Some(LONG)).await
}

/// The failure of a job, whose message must not contain a local path.
pub(crate) async fn failure(fixture: &Fixture, task: &Task) -> Failure {
    failure_of(fixture, run(task).await)
}

pub(crate) fn failure_of(fixture: &Fixture, result: Result<ScoreResult, Unscored>) -> Failure {
    match result {
        Err(Unscored::Failed(failure)) => {
            let home = fixture.directory.path().display().to_string();
            assert!(!failure.message.contains(&home), "a local path leaks: {}", failure.message);
            failure
        }
        other => panic!("not a failure: {other:?}"),
    }
}
