//! The processes of a whole node that are ours, and how they start one another.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use super::error::{NodeError, Step as _};
use super::state::State;
use super::{cluster, init, keeper, reaper};

/// Environment variable that names the program which plays the roles: it understands `kube role ROLE STATE`.
pub const LAUNCHER_VARIABLE: &str = "VMAFX_KUBE_LAUNCHER";

/// What one of our processes does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Owns the cluster, and forwards a port of the host to it.
    Keep,
    /// The first process in the namespaces: collects the dead.
    Init,
    /// Sets up the namespaces, starts the servers and watches over them.
    Cluster,
    /// Waits for the keeper's end and removes what is left.
    Reap,
}

impl Role {
    const ALL: [Self; 4] = [Self::Keep, Self::Init, Self::Cluster, Self::Reap];

    const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Init => "init",
            Self::Cluster => "cluster",
            Self::Reap => "reap",
        }
    }

    /// Plays the role until its end.
    pub fn play(self, base: &Path) -> Result<(), NodeError> {
        let state = State::new(base)?;
        match self {
            Self::Keep => runtime()?.block_on(keeper::keep(&state, &Launcher::current()?)),
            Self::Init => init::init(&state, &Launcher::current()?),
            Self::Cluster => runtime()?.block_on(cluster::run(&state)),
            Self::Reap => reaper::reap(&state),
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, NodeError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().step("starting the runtime")
}

impl FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|role| role.name() == name).ok_or_else(|| format!("no such role: {name}"))
    }
}

/// A program that plays roles when it is called with `… ROLE BASE` as its last two arguments.
///
/// A test program cannot: its `main` is the test harness's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    program: PathBuf,
    args: Vec<OsString>,
}

impl Launcher {
    /// A program, and the arguments before the role.
    pub fn new(program: impl Into<PathBuf>, args: &[&str]) -> Self {
        Self { program: program.into(), args: args.iter().map(OsString::from).collect() }
    }

    /// The one that the environment names, which is how tests of other crates get theirs.
    pub fn from_env() -> Option<Self> {
        env::var_os(LAUNCHER_VARIABLE).map(|program| Self::new(program, &["kube", "role"]))
    }

    /// The program that is running, which was itself called with a role.
    fn current() -> Result<Self, NodeError> {
        let program = env::current_exe().step("finding our own program")?;
        let mut args: Vec<_> = env::args_os().skip(1).collect();
        args.truncate(args.len().saturating_sub(2));
        Ok(Self { program, args })
    }

    /// The command line that plays a role.
    pub(super) fn line(&self, role: Role, state: &State) -> Vec<OsString> {
        let base = state.directory().parent().unwrap_or(Path::new("/"));
        let mut line = vec![self.program.clone().into_os_string()];
        line.extend(self.args.iter().cloned());
        line.extend([OsString::from(role.name()), base.as_os_str().to_owned()]);
        line
    }

    /// The same as a command.
    pub(super) fn command(&self, role: Role, state: &State) -> Command {
        let line = self.line(role, state);
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]);
        command
    }
}
