//! The process whose end stops the cluster.
//!
//! Its input is a pipe from the owner: when the pipe closes, the owner has ended, however that happened, and the cluster
//! stops too. An owner that detaches the cluster writes one byte first.

use std::os::fd::AsFd as _;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};

use super::super::process::{ChildCommand, ChildProcess};
use super::error::{NodeError, ResultExt as _};
use super::role::{ProcessRole, RoleLauncher};
use super::state::{ClusterRecord, StateDirectory};
use super::{DETACH, forward};

const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(super) async fn supervise(state: &StateDirectory, launcher: &RoleLauncher) -> Result<(), NodeError> {
    // Ctrl-C at the terminal must reach only the owner, whose end closes the pipe.
    rustix::process::setsid().step("leaving the session")?;
    let mut terminate = signal(SignalKind::terminate()).step("listening for signals")?;
    let owner = std::io::stdin().as_fd().try_clone_to_owned().step("opening our input")?;
    let owner = pipe::Receiver::from_owned_fd(owner).step("opening our input")?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.step("listening on loopback")?;
    let port = listener.local_addr().step("listening on loopback")?.port();

    // The record is written first, so that a cleanup knows what to look for from here on.
    let supervisor = rustix::process::getpid().as_raw_nonzero().get();
    state.write_record(&ClusterRecord { id: id(supervisor), port, supervisor }).step("writing the record")?;
    let reaper = start_reaper(state, launcher)?;
    let mut namespaces = ChildProcess::start(&in_namespaces(state, launcher))?;

    let socket = state.socket();
    let result = tokio::select! {
        result = forward::port_to_socket(&listener, &socket) => result.step("forwarding connections"),
        error = ended(&mut namespaces) => Err(error),
        () = owner_ended(owner) => Ok(()),
        _ = terminate.recv() => Ok(()),
    };
    // First the processes end, then the reaper removes what they left.
    drop(namespaces);
    drop(reaper);
    result
}

/// Unique on this machine, and a valid name for a cgroup.
fn id(pid: i32) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("vmafx-{pid}-{:x}", now.as_millis())
}

/// Its input closes when this process ends; its output is the lock, inherited from this process.
fn start_reaper(state: &StateDirectory, launcher: &RoleLauncher) -> Result<Child, NodeError> {
    let mut command = launcher.command(ProcessRole::Reap, state);
    command.stdin(Stdio::piped()).stdout(Stdio::inherit()).spawn().step("starting the reaper")
}

/// `--kill-child` makes the first process inside end with this one.
fn in_namespaces(state: &StateDirectory, launcher: &RoleLauncher) -> ChildCommand {
    ChildCommand::new("the cluster", "unshare", state.supervisor_log())
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"])
        .args(launcher.command_line(ProcessRole::Init, state))
}

async fn ended(process: &mut ChildProcess) -> NodeError {
    loop {
        if let Some(error) = process.ended() {
            return error.into();
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn owner_ended(mut owner: pipe::Receiver) {
    if owner.read_u8().await.is_ok_and(|byte| byte == DETACH) {
        // The owner detached the cluster.
        std::future::pending::<()>().await;
    }
}
