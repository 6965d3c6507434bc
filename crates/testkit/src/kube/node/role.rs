//! Our own processes of a whole node, and how they start each other.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use super::error::{NodeError, ResultExt as _};
use super::state::StateDirectory;
use super::{cluster, init, reaper, supervisor};

/// Environment variable with the program that runs the roles, as `kube role ROLE BASE`.
pub const LAUNCHER_VARIABLE: &str = "VMAFX_KUBE_LAUNCHER";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRole {
    /// Owns the cluster, and forwards a port of the host to it.
    Supervise,
    /// The first process in the namespaces, which reaps orphans.
    Init,
    /// Sets up the namespaces, starts the servers and supervises them.
    Cluster,
    /// Waits for the supervisor's end and removes what is left.
    Reap,
}

impl ProcessRole {
    const ALL: [Self; 4] = [Self::Supervise, Self::Init, Self::Cluster, Self::Reap];

    const fn name(self) -> &'static str {
        match self {
            Self::Supervise => "supervise",
            Self::Init => "init",
            Self::Cluster => "cluster",
            Self::Reap => "reap",
        }
    }

    /// Runs the role to its end.
    pub fn run(self, base: &Path) -> Result<(), NodeError> {
        let state = StateDirectory::new(base)?;
        match self {
            Self::Supervise => runtime()?.block_on(supervisor::supervise(&state, &RoleLauncher::current()?)),
            Self::Init => init::init(&state, &RoleLauncher::current()?),
            Self::Cluster => runtime()?.block_on(cluster::run(&state)),
            Self::Reap => reaper::reap(&state),
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, NodeError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().step("starting the runtime")
}

impl FromStr for ProcessRole {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|role| role.name() == name)
            .ok_or_else(|| format!("unknown role {name}; use supervise, init, cluster or reap"))
    }
}

/// A program that runs a role when its last two arguments are `ROLE BASE`.
///
/// A test program cannot do that: its `main` belongs to the test harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleLauncher {
    program: PathBuf,
    args: Vec<OsString>,
}

impl RoleLauncher {
    /// `args` precede the role.
    pub fn new(program: impl Into<PathBuf>, args: &[&str]) -> Self {
        Self { program: program.into(), args: args.iter().map(OsString::from).collect() }
    }

    /// The launcher that the environment names, for tests of other crates.
    pub fn from_env() -> Option<Self> {
        env::var_os(LAUNCHER_VARIABLE).map(|program| Self::new(program, &["kube", "role"]))
    }

    /// The running program, which was itself started with a role.
    fn current() -> Result<Self, NodeError> {
        let program = env::current_exe().step("finding our own program")?;
        let mut args: Vec<_> = env::args_os().skip(1).collect();
        args.truncate(args.len().saturating_sub(2));
        Ok(Self { program, args })
    }

    pub(super) fn command_line(&self, role: ProcessRole, state: &StateDirectory) -> Vec<OsString> {
        let base = state.directory().parent().unwrap_or(Path::new("/"));
        let mut line = vec![self.program.clone().into_os_string()];
        line.extend(self.args.iter().cloned());
        line.extend([OsString::from(role.name()), base.as_os_str().to_owned()]);
        line
    }

    pub(super) fn command(&self, role: ProcessRole, state: &StateDirectory) -> Command {
        let line = self.command_line(role, state);
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]);
        command
    }
}
