//! A home directory with clips, in which `vmafx up` and other commands run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use vmafx_testkit::command::{CommandOutput, interrupt, remove_variables};
use vmafx_testkit::wait;

/// The options that describe the 160x90 clips.
pub(crate) const RAW: [&str; 4] = ["--size", "160x90", "--pixel-format", "yuv420p"];
const TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) struct Fixture {
    home: tempfile::TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        for (name, from) in [("ref.yuv", "ref_160x90.yuv"), ("dis.yuv", "dis_160x90.yuv")] {
            fs::copy(data(from), home.path().join(name)).unwrap();
        }
        let whole = fs::read(home.path().join("dis.yuv")).unwrap();
        fs::write(home.path().join("cut.yuv"), &whole[..whole.len() - 100]).unwrap();
        // Scoring this clip takes long enough to be interrupted on any machine.
        fs::write(home.path().join("long.yuv"), whole.repeat(400)).unwrap();
        Self { home }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn data_directory(&self) -> PathBuf {
        self.path(".local/state/vmafx/up")
    }

    /// The program in the home directory, without the variables that would change its settings.
    pub(crate) fn vmafx(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vmafx"));
        command.args(arguments).stdin(Stdio::null()).current_dir(self.home.path());
        remove_variables(&mut command, &["VMAFX_", "AWS_", "XDG_"]);
        command.envs(std::env::var_os("VMAFX_FFMPEG_BIN").map(|path| ("VMAFX_FFMPEG_BIN", path)));
        command.env("HOME", self.home.path()).env("RUST_BACKTRACE", "1");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput::of(&mut self.vmafx(arguments))
    }

    /// Starts `vmafx up` on free ports, and waits until other commands can find it.
    pub(crate) async fn up(&self, arguments: &[&str], variables: &[(String, String)]) -> Up {
        let ports = ["--grpc-listen=127.0.0.1:0", "--http-addr=127.0.0.1:0", "--node-http-addr=127.0.0.1:0"];
        let mut command = self.vmafx(&["up"]);
        command.args(ports).args(arguments).envs(variables.iter().cloned());
        let log = self.path("up.log");
        command.stderr(fs::File::create(&log).unwrap());
        let mut up = Up { child: command.spawn().unwrap(), log };
        let address_file = self.data_directory().join("up.json");
        let is_up = || {
            if let Some(status) = up.child.try_wait().unwrap() {
                assert!(status.success(), "{}", fs::read_to_string(&up.log).unwrap());
            }
            std::future::ready(address_file.exists().then_some(()))
        };
        wait::until(TIMEOUT, "vmafx up", is_up).await.unwrap();
        up
    }

    /// Submits the pair and returns the id of its job.
    pub(crate) fn submit(&self, pair: [&str; 2], options: &[&str]) -> String {
        let arguments: Vec<&str> =
            ["submit"].into_iter().chain(pair).chain(RAW).chain(options.iter().copied()).collect();
        self.run(&arguments).ok().trim().to_owned()
    }

    pub(crate) fn job(&self, id: &str) -> Value {
        let document: Value =
            serde_json::from_str(&self.run(&["get", "jobs", id, "-o", "json"]).ok()).unwrap();
        document["jobs"][0].clone()
    }

    /// Waits until the condition holds for the job, and returns the job.
    pub(crate) async fn until(&self, id: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let poll = async || {
            let job = self.job(id);
            condition(&job).then_some(job)
        };
        wait::until(TIMEOUT, "the job", poll).await.unwrap()
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
    pub(crate) fn interrupt(&self) {
        interrupt(&self.child);
    }

    /// Waits for the exit; returns the exit code and the log.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
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
