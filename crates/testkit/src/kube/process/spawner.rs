//! The thread that starts every child process.

use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

struct SpawnRequest {
    command: Command,
    reply: Sender<io::Result<Child>>,
}

/// Starts a command from a thread that lives as long as this process.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    static REQUESTS: OnceLock<Sender<SpawnRequest>> = OnceLock::new();
    let requests = REQUESTS.get_or_init(|| {
        let (requests, inbox) = channel::<SpawnRequest>();
        // The thread never ends, because the static keeps the sender open. If it cannot be created, the send below fails.
        let _ = thread::Builder::new().name("spawner".into()).spawn(move || {
            for mut request in inbox {
                let _ = request.reply.send(request.command.spawn());
            }
        });
        requests
    });
    let (reply, response) = channel();
    let gone = || io::Error::other("the thread that starts child processes has ended");
    requests.send(SpawnRequest { command, reply }).map_err(|_| gone())?;
    response.recv().map_err(|_| gone())?
}
