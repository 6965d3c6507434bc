//! Ends the worker, and all it has started, when the agent is gone.
//!
//! The kernel's own way (`PR_SET_PDEATHSIG`) ends the worker alone, and a decoder that hangs would stay for ever. So a
//! thread waits for the agent's end of a pipe to be closed, by whatever end the agent comes to, and kills the group.

use std::io::{self, Read};
use std::thread;

use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group, kill_process};

use crate::confine;

/// Waits for the end of the agent; says how the worker is bound to it. Without a line it stays bound as it is.
pub(super) fn hold(agent: Option<impl Read + Send + 'static>, bound: rustix::io::Result<()>) -> String {
    let started = match agent {
        Some(agent) => thread::Builder::new().name("lifeline".to_owned()).spawn(|| wait(agent)).map(drop),
        None => Err(io::Error::other("its standard input is closed")),
    };
    match (started, bound) {
        (Ok(()), _) => {
            // The kernel would be faster, and leave the others.
            _ = confine::end_with_parent(false);
            "ends with its agent".to_owned()
        }
        (Err(_), Ok(())) => "ends with its parent".to_owned(),
        (Err(error), Err(_)) => format!("no end with its agent: {error}"),
    }
}

fn wait(mut agent: impl Read) {
    let mut buffer = [0; 64];
    loop {
        match agent.read(&mut buffer) {
            // The agent has nothing more to say, so whatever comes is passed over.
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
        }
    }
    // The group of somebody else is not ours to end.
    if getpgrp() == getpid() {
        _ = kill_current_process_group(Signal::KILL);
    }
    _ = kill_process(getpid(), Signal::KILL);
}
