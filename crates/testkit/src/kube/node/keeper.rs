//! The process that a cluster lives and dies with.
//!
//! It is told its owner's wish through its input: while the pipe is open the owner lives; the pipe's end means that
//! the owner is gone, however that came about, and the cluster ends too. An owner that wants the cluster to stay says
//! so with one byte first.

use std::os::fd::AsFd as _;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};

use super::super::process::{Launch, Process};
use super::error::{NodeError, Step as _};
use super::role::{Launcher, Role};
use super::state::{Record, State};
use super::{DETACH, forward};

const LOOK: Duration = Duration::from_millis(100);

pub(super) async fn keep(state: &State, launcher: &Launcher) -> Result<(), NodeError> {
    // Ctrl-C at the terminal is for the command that started us; it tells us through the pipe.
    rustix::process::setsid().step("leaving the session")?;
    let mut terminate = signal(SignalKind::terminate()).step("listening for signals")?;
    let owner = std::io::stdin().as_fd().try_clone_to_owned().step("opening our input")?;
    let owner = pipe::Receiver::from_owned_fd(owner).step("opening our input")?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.step("listening on loopback")?;
    let port = listener.local_addr().step("listening on loopback")?.port();

    // The record first: from here on whoever cleans up knows what to look for.
    let keeper = rustix::process::getpid().as_raw_nonzero().get();
    state.write_record(&Record { id: id(keeper), port, keeper }).step("writing the record")?;
    let reaper = start_reaper(state, launcher)?;
    let mut namespaces = Process::start(&in_namespaces(state, launcher))?;

    let socket = state.socket();
    let result = tokio::select! {
        result = forward::port_to_socket(&listener, &socket) => result.step("forwarding connections"),
        error = ended(&mut namespaces) => Err(error),
        () = owner_is_gone(owner) => Ok(()),
        _ = terminate.recv() => Ok(()),
    };
    // In this order: the processes, then whoever removes what they leave.
    drop(namespaces);
    drop(reaper);
    result
}

/// Unique on this machine, and a valid name for a cgroup.
fn id(keeper: i32) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("vmafx-{keeper}-{:x}", now.as_millis())
}

/// Our end of its input is held until we end; its output is our output, the lock.
fn start_reaper(state: &State, launcher: &Launcher) -> Result<Child, NodeError> {
    let mut command = launcher.command(Role::Reap, state);
    command.stdin(Stdio::piped()).stdout(Stdio::inherit()).spawn().step("starting the reaper")
}

/// `--kill-child` hands our death on to the first process inside.
fn in_namespaces(state: &State, launcher: &Launcher) -> Launch {
    Launch::new("the cluster", "unshare", state.keeper_log())
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"])
        .args(launcher.line(Role::Init, state))
}

async fn ended(process: &mut Process) -> NodeError {
    loop {
        if let Some(error) = process.ended() {
            return error.into();
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn owner_is_gone(mut owner: pipe::Receiver) {
    if owner.read_u8().await.is_ok_and(|byte| byte == DETACH) {
        // It wants us to stay.
        std::future::pending::<()>().await;
    }
}
