//! Asks a tool, with a deadline and a bound on its answer.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

/// For a tool to answer. One of a driver that hangs does not.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Most bytes of an answer.
const ANSWER: u64 = 256 * 1024;

/// What a tool says on its standard output; nothing if there is no such tool, or it is slow.
pub(super) async fn ask(tool: &str, arguments: &[&str], path: Option<&OsStr>) -> Option<String> {
    let program =
        std::env::split_paths(path?).map(|directory| directory.join(tool)).find(|file| file.is_file())?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A tool that starts others is killed together with them.
    let mut child = command.process_group(0).kill_on_drop(true).spawn().ok()?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    let stdout = child.stdout.take()?;
    let answer = timeout(DEADLINE, async {
        let mut said = Vec::new();
        stdout.take(ANSWER).read_to_end(&mut said).await.ok()?;
        Some(said)
    })
    .await;
    if answer.is_err() {
        tracing::debug!(tool, deadline = ?DEADLINE, "a tool that names devices does not answer");
    }
    // Not reaped yet, so the group is still its own. An end by itself is waited for a moment.
    let ended = timeout(Duration::from_millis(500), child.wait()).await;
    if ended.is_err()
        && let Some(group) = group
    {
        _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        _ = timeout(DEADLINE, child.wait()).await;
    }
    let said = answer.ok().flatten()?;
    Some(String::from_utf8_lossy(&said).into_owned())
}
