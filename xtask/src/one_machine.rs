//! A queue and a node on this machine, in one process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::runtime::Runtime;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};

const PATIENCE: Duration = Duration::from_mins(1);

/// A running `vmafx up`. It ends when this is dropped.
pub(crate) struct OneMachine {
    program: PathBuf,
    process: ChildProcess,
    _directory: tempfile::TempDir,
    standing: Value,
}

impl OneMachine {
    /// Starts it with files and ports of its own; clips may lie below `root`.
    pub(crate) fn start(
        runtime: &Runtime,
        program: PathBuf,
        root: &Path,
        arguments: &[&str],
    ) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("vmafx-up-").tempdir()?;
        let state = directory.path().join("state");
        let launch = ChildCommand::new("vmafx up", &program, directory.path().join("log"))
            .args(["up", "--grpc-listen=127.0.0.1:0", "--http-addr=127.0.0.1:0", "--node-http-addr=0"])
            .path("--data-dir", &state)
            .path("--root", root)
            .args(arguments.iter().copied());
        let mut process = ChildProcess::start(&launch).context("start vmafx up")?;
        let read = || std::future::ready(standing(&state.join("up.json")));
        let standing = runtime.block_on(process.ready(PATIENCE, read))?;
        Ok(Self { program, process, _directory: directory, standing })
    }

    /// `vmafx` with these arguments, for this controller.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).envs(self.variables());
        command
    }

    /// What other commands must be told to find it.
    pub(crate) fn variables(&self) -> [(&'static str, &str); 2] {
        [("VMAFX_CONTROLLER_ADDR", self.grpc()), ("VMAFX_CONTROLLER_TOKEN_FILE", self.token_file())]
    }

    /// Where its controller takes calls.
    pub(crate) fn grpc(&self) -> &str {
        self.text("grpc")
    }

    /// Where its controller serves health and more.
    pub(crate) fn http(&self) -> &str {
        self.text("http")
    }

    /// The file with the token of its user.
    pub(crate) fn token_file(&self) -> &str {
        self.text("tokenFile")
    }

    fn text(&self, name: &str) -> &str {
        self.standing[name].as_str().unwrap_or_default()
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }
}

fn standing(file: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}
