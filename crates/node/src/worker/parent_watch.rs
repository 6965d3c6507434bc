//! Kills the worker, and all it has started, when the agent is gone.
//!
//! The kernel's own means (`PR_SET_PDEATHSIG`) kills the worker alone, and a decoder that hangs would stay for ever. So a
//! thread waits until the agent's end of a pipe is closed, which happens however the agent exits, and kills the group.

use std::io::{self, Read};
use std::thread;

use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group, kill_process};

use crate::confine;

/// Starts the thread, and returns the measure for the list of confinement measures. Where the thread cannot be started,
/// the worker stays bound to its parent by the kernel, if `bound` says that it is.
pub(super) fn start(agent: Option<impl Read + Send + 'static>, bound: rustix::io::Result<()>) -> String {
    let started = match agent {
        Some(agent) => thread::Builder::new().name("parent-watch".to_owned()).spawn(|| wait(agent)).map(drop),
        None => Err(io::Error::other("its standard input is closed")),
    };
    match (started, bound) {
        (Ok(()), _) => {
            // The kernel would kill the worker before the thread can kill its decoders.
            _ = confine::end_with_parent(false);
            "killed with its agent".to_owned()
        }
        (Err(_), Ok(())) => "killed with its parent".to_owned(),
        (Err(error), Err(_)) => format!("not killed with its agent: {error}"),
    }
}

fn wait(mut agent: impl Read) {
    let mut buffer = [0; 64];
    loop {
        match agent.read(&mut buffer) {
            // The protocol has no further input, so bytes are ignored.
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
        }
    }
    // A worker that was started by hand is not the leader of its group, and must not kill the shell.
    if getpgrp() == getpid() {
        _ = kill_current_process_group(Signal::KILL);
    }
    _ = kill_process(getpid(), Signal::KILL);
}
