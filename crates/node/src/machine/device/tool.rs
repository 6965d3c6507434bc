//! Runs a tool, with a timeout and a limit on its output.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

/// The tool of a driver that hangs does not exit by itself.
const TIMEOUT: Duration = Duration::from_secs(5);

const MAX_OUTPUT_BYTES: u64 = 256 * 1024;

/// The standard output of a tool; `None` if there is no such tool, or it is slow.
pub(super) async fn run(tool: &str, arguments: &[&str], path: Option<&OsStr>) -> Option<String> {
    let program =
        std::env::split_paths(path?).map(|directory| directory.join(tool)).find(|file| file.is_file())?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A group of its own, so that it is killed together with the processes that it starts.
    let mut child = command.process_group(0).kill_on_drop(true).spawn().ok()?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    let stdout = child.stdout.take()?;
    let output = timeout(TIMEOUT, async {
        let mut output = Vec::new();
        stdout.take(MAX_OUTPUT_BYTES).read_to_end(&mut output).await.ok()?;
        Some(output)
    })
    .await;
    if output.is_err() {
        tracing::debug!(tool, timeout = ?TIMEOUT, "the tool that lists devices did not exit in time");
    }
    // The process is not reaped before `wait` returns, so the id of its group cannot belong to another.
    let exited = timeout(Duration::from_millis(500), child.wait()).await;
    if exited.is_err()
        && let Some(group) = group
    {
        _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        _ = timeout(TIMEOUT, child.wait()).await;
    }
    let output = output.ok().flatten()?;
    Some(String::from_utf8_lossy(&output).into_owned())
}
