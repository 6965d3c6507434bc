//! A home, a running `vmafx up`, and the other commands of its user.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use vmafx_testkit::wait;

/// The describing options of the 160x90 clips.
pub(crate) const RAW: [&str; 4] = ["--size", "160x90", "--pixel-format", "yuv420p"];
const PATIENCE: Duration = Duration::from_mins(2);

/// A home of somebody with clips.
pub(crate) struct Stage {
    home: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn set() -> Self {
        let home = tempfile::tempdir().unwrap();
        for (name, from) in [("ref.yuv", "ref_160x90.yuv"), ("dis.yuv", "dis_160x90.yuv")] {
            fs::copy(data(from), home.path().join(name)).unwrap();
        }
        let whole = fs::read(home.path().join("dis.yuv")).unwrap();
        fs::write(home.path().join("cut.yuv"), &whole[..whole.len() - 100]).unwrap();
        // Long enough to be interrupted on any machine.
        fs::write(home.path().join("long.yuv"), whole.repeat(400)).unwrap();
        Self { home }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Where `vmafx up` keeps its files.
    pub(crate) fn state(&self) -> PathBuf {
        self.path(".local/state/vmafx/up")
    }

    /// The program, at home, with an environment in which nothing surprises.
    pub(crate) fn vmafx(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vmafx"));
        command.args(arguments).stdin(Stdio::null()).current_dir(self.home.path());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["VMAFX_", "AWS_", "XDG_"].iter().any(|start| text.starts_with(start))
                && text != "VMAFX_FFMPEG_BIN"
            {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.home.path()).env("RUST_BACKTRACE", "1");
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.vmafx(arguments))
    }

    /// Starts `vmafx up` on free ports, and waits until the others find it.
    pub(crate) async fn up(&self, arguments: &[&str], variables: &[(String, String)]) -> Up {
        let ports = ["--grpc-listen=127.0.0.1:0", "--http-addr=127.0.0.1:0", "--node-http-addr=127.0.0.1:0"];
        let mut command = self.vmafx(&["up"]);
        command.args(ports).args(arguments).envs(variables.iter().cloned());
        let log = self.path("up.log");
        command.stderr(fs::File::create(&log).unwrap());
        let mut up = Up { child: command.spawn().unwrap(), log };
        let standing = self.state().join("up.json");
        let there = || {
            if let Some(ended) = up.child.try_wait().unwrap() {
                let said = fs::read_to_string(&up.log).unwrap();
                assert!(ended.success(), "{said}");
            }
            std::future::ready(standing.exists().then_some(()))
        };
        wait::until(PATIENCE, "vmafx up", there).await.unwrap();
        up
    }

    /// Submits the pair and gives its id.
    pub(crate) fn submit(&self, pair: [&str; 2], options: &[&str]) -> String {
        let arguments: Vec<&str> =
            ["submit"].into_iter().chain(pair).chain(RAW).chain(options.iter().copied()).collect();
        self.run(&arguments).ok().trim().to_owned()
    }

    /// One job, as programs read it.
    pub(crate) fn job(&self, id: &str) -> Value {
        let answer: Value = serde_json::from_str(&self.run(&["get", "jobs", id, "-o", "json"]).ok()).unwrap();
        answer["jobs"][0].clone()
    }

    /// Waits for a job.
    pub(crate) async fn until(&self, id: &str, is: impl Fn(&Value) -> bool) -> Value {
        let look = async || {
            let job = self.job(id);
            is(&job).then_some(job)
        };
        wait::until(PATIENCE, "the job", look).await.unwrap()
    }
}

/// A file of the scoring crate's test data.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data").join(name)
}

/// A running `vmafx up`, killed when dropped.
pub(crate) struct Up {
    child: Child,
    log: PathBuf,
}

impl Up {
    /// As Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, Signal::INT).unwrap();
    }

    /// Waits for the end; the exit code and what was said.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        (code, fs::read_to_string(&self.log).unwrap())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// What it said, if all went well.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }
}
