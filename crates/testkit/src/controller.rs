//! A real controller as a child process, with its own store and with ports that it keeps when it restarts.
//!
//! Tests of `vmafx-controller` start its program. Cargo builds no program of another package for a test, so tests of other
//! crates have the controller as a library and run it in a second process of the test program:
//! [`controller_in_test_program`](crate::controller_in_test_program).
//!
//! ```no_run
//! # async fn test() -> Result<(), Box<dyn std::error::Error>> {
//! use vmafx_testkit::controller::ControllerConfig;
//!
//! let program = "target/release/vmafx-controller";
//! let mut controller = ControllerConfig::new(program).env("VMAFX_STORE_LEASE_TTL", "1s").start().await?;
//! controller.kill()?;
//! controller.restart().await?;
//! # Ok(())
//! # }
//! ```

mod channel;
mod store;
mod volume;

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use std::{env, io};

use rustix::process::Signal;
use tempfile::TempDir;

pub use self::channel::{BearerToken, ControllerChannel};
use crate::kube::process::{ChildCommand, ChildProcess, ProcessError};
use crate::{http_client, ports, wait};

/// Timeout of a start or a stop on a busy machine, recovery of the store included.
const TIMEOUT: Duration = Duration::from_mins(1);

const TOKEN_FILE: &str = "tokens.yaml";

/// Set in the process of a test program that is to run the controller.
pub const SERVE_VARIABLE: &str = "VMAFX_TEST_SERVE_CONTROLLER";

#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    #[error("the controller did not start")]
    Process(#[from] ProcessError),
    #[error("cannot use the directory, the ports or the process of the controller")]
    Io(#[from] io::Error),
    #[error("the controller did not stop")]
    Stop(#[from] wait::TimedOut),
}

/// How to start a controller. By default it authenticates nobody and has one scoring root, `/clips`.
#[derive(Debug, Clone)]
pub struct ControllerConfig {
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    tokens: Option<String>,
    parent: PathBuf,
    /// Size in MiB.
    volume: Option<u32>,
}

impl ControllerConfig {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            tokens: None,
            parent: env::temp_dir(),
            volume: None,
        }
    }

    /// The test `path` of this test program, with its crate, serves the controller.
    pub fn in_test_program(path: &str) -> io::Result<Self> {
        let test = path.split_once("::").map_or(path, |(_, test)| test);
        let mut config = Self::new(env::current_exe()?).env(SERVE_VARIABLE, "1");
        config.arguments = ["--exact", test, "--ignored", "--nocapture"].map(str::to_owned).to_vec();
        Ok(config)
    }

    /// Sets an environment variable; the last value counts.
    #[must_use]
    pub fn env(mut self, variable: &str, value: impl Into<String>) -> Self {
        self.variables.push((variable.to_owned(), value.into()));
        self
    }

    #[must_use]
    pub fn envs(self, variables: &[(&str, &str)]) -> Self {
        variables.iter().fold(self, |config, (variable, value)| config.env(variable, *value))
    }

    /// Keeps the queue in Postgres instead of SQLite.
    #[must_use]
    pub fn postgres(self, dsn: &str) -> Self {
        self.envs(&[("VMAFX_STORE_BACKEND", "postgres"), ("VMAFX_DB_DSN", dsn)])
    }

    /// Authenticates callers by this content of `VMAFX_AUTH_TOKEN_FILE`.
    #[must_use]
    pub fn tokens(mut self, yaml: &str) -> Self {
        self.tokens = Some(yaml.to_owned());
        self
    }

    /// Keeps its files below this directory instead of the one for temporary files, which may be in memory.
    #[must_use]
    pub fn below(mut self, parent: &Path) -> Self {
        parent.clone_into(&mut self.parent);
        self
    }

    /// Keeps the store on a volume of its own, which is gone when the process ends.
    #[must_use]
    pub fn volume(mut self, mebibytes: u32) -> Self {
        self.volume = Some(mebibytes);
        self
    }

    /// Starts the controller with an empty store and waits until it is ready.
    pub async fn start(self) -> Result<ControllerServer, ControllerError> {
        let directory = tempfile::Builder::new().prefix("vmafx-controller-").tempdir_in(&self.parent)?;
        let (http, grpc) = (ports::free_address()?, ports::free_address()?);
        let path = directory.path();
        fs::create_dir(path.join("store"))?;
        let log = path.join("log");
        let command = match self.volume {
            None => ChildCommand::new("vmafx-controller", &self.program, log),
            Some(size) => volume::command(&self.program, size, &path.join("store"), log),
        };
        let mut command = command
            .args(&self.arguments)
            .env("VMAFX_HTTP_ADDR", http.to_string())
            .env("VMAFX_GRPC_LISTEN", grpc.to_string())
            .env("VMAFX_DB_PATH", path.join("store/queue.db"))
            .env("VMAFX_SCORING_ROOTS", "/clips");
        command = match &self.tokens {
            None => command.env("VMAFX_AUTH_DISABLED", "true"),
            Some(tokens) => {
                let file = path.join(TOKEN_FILE);
                fs::write(&file, tokens)?;
                fs::set_permissions(&file, Permissions::from_mode(0o600))?;
                command.env("VMAFX_AUTH_TOKEN_FILE", file)
            }
        };
        for (variable, value) in self.variables {
            command = command.env(variable, value);
        }
        let process = ChildProcess::start(&command)?;
        let mut server = ControllerServer { process, command, directory, http, grpc };
        server.ready().await?;
        Ok(server)
    }
}

/// A running controller. Dropping it kills the process, and prints the end of its log if the test fails.
#[derive(Debug)]
pub struct ControllerServer {
    process: ChildProcess,
    command: ChildCommand,
    directory: TempDir,
    http: SocketAddr,
    grpc: SocketAddr,
}

impl ControllerServer {
    pub fn http(&self) -> SocketAddr {
        self.http
    }

    pub fn grpc(&self) -> SocketAddr {
        self.grpc
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Everything that was logged since the first start.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory().join("log")).unwrap_or_default()
    }

    /// Sends SIGKILL.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.kill()
    }

    /// Sends SIGTERM.
    pub fn terminate(&mut self) -> io::Result<()> {
        self.process.signal(Signal::TERM)
    }

    /// Waits until the process has exited by itself.
    pub async fn exited(&mut self) -> Result<ExitStatus, ControllerError> {
        let exited = || std::future::ready(self.process.ended().is_some());
        wait::until(TIMEOUT, "the controller to exit", exited).await?;
        Ok(self.process.wait()?)
    }

    /// Replaces the tokens that callers authenticate with; a running controller reads them within seconds.
    pub fn set_tokens(&self, yaml: &str) -> io::Result<()> {
        let file = self.directory().join(TOKEN_FILE);
        fs::write(&file, yaml)?;
        fs::set_permissions(&file, Permissions::from_mode(0o600))
    }

    /// Sets an environment variable for the next start.
    pub fn set_env(&mut self, variable: &str, value: &str) {
        self.command = self.command.clone().env(variable, value);
    }

    /// Starts it again at the same addresses, with the current content of its store, and waits until it is ready.
    pub async fn restart(&mut self) -> Result<(), ControllerError> {
        self.process = ChildProcess::start(&self.command)?;
        self.ready().await
    }

    /// A channel for gRPC clients, which connects on first use and again after a restart.
    pub fn channel(&self, token: Option<&str>) -> ControllerChannel {
        channel::connect_lazy(self.grpc, token)
    }

    async fn ready(&mut self) -> Result<(), ControllerError> {
        let http = self.http;
        self.process.ready(TIMEOUT, || http_client::is_ready(http)).await?;
        Ok(())
    }
}

impl Drop for ControllerServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("end of the controller's log:\n{}", self.process.log_tail());
        }
    }
}

/// Expands to `controller_config()`, which runs the controller in a second process of this test program, and to the test
/// that is the controller there. The crate needs `vmafx-controller` and `vmafx-kit`.
#[macro_export]
macro_rules! controller_in_test_program {
    () => {
        pub(crate) fn controller_config() -> $crate::controller::ControllerConfig {
            let test = concat!(module_path!(), "::serve_controller");
            $crate::controller::ControllerConfig::in_test_program(test).unwrap()
        }

        #[test]
        #[ignore = "the controller of the other tests"]
        fn serve_controller() {
            if std::env::var_os($crate::controller::SERVE_VARIABLE).is_some() {
                let environment = vmafx_kit::config::Environment::of_process();
                let settings = vmafx_kit::config::parse(["vmafx-controller"], &environment, &[]);
                vmafx_kit::daemon::run(settings.ok().unwrap(), vmafx_controller::start::start).unwrap();
            }
        }
    };
}
