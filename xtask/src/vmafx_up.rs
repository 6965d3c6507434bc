//! A running `vmafx up`: controller and node in one process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::runtime::Runtime;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};

const TIMEOUT: Duration = Duration::from_mins(1);

/// Stopped on drop.
pub(crate) struct VmafxUp {
    program: PathBuf,
    process: ChildProcess,
    _directory: tempfile::TempDir,
    state: Value,
}

impl VmafxUp {
    /// Starts it with its own files and ports; `root` is the scoring root.
    pub(crate) fn start(
        runtime: &Runtime,
        program: PathBuf,
        root: &Path,
        arguments: &[&str],
    ) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("vmafx-up-").tempdir()?;
        let data = directory.path().join("state");
        let launch = ChildCommand::new("vmafx up", &program, directory.path().join("log"))
            .args(["up", "--grpc-listen=127.0.0.1:0", "--http-addr=127.0.0.1:0", "--node-http-addr=0"])
            .path("--data-dir", &data)
            .path("--root", root)
            .args(arguments.iter().copied());
        let mut process = ChildProcess::start(&launch).context("cannot start vmafx up")?;
        let read = || std::future::ready(read_state(&data.join("up.json")));
        let state = runtime.block_on(process.ready(TIMEOUT, read))?;
        Ok(Self { program, process, _directory: directory, state })
    }

    /// A `vmafx` command that uses this controller.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).envs(self.variables());
        command
    }

    /// Environment variables with which other commands find the controller.
    pub(crate) fn variables(&self) -> [(&'static str, &str); 2] {
        [("VMAFX_CONTROLLER_ADDR", self.grpc()), ("VMAFX_CONTROLLER_TOKEN_FILE", self.token_file())]
    }

    /// gRPC address of the controller.
    pub(crate) fn grpc(&self) -> &str {
        self.text("grpc")
    }

    /// HTTP address of the controller.
    pub(crate) fn http(&self) -> &str {
        self.text("http")
    }

    pub(crate) fn token_file(&self) -> &str {
        self.text("tokenFile")
    }

    fn text(&self, name: &str) -> &str {
        self.state[name].as_str().unwrap_or_default()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }
}

fn read_state(file: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}
