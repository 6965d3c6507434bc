//! Opening the browser.

use std::process::Stdio;

use tokio::process::Command;

#[cfg(target_os = "macos")]
const OPENER: &str = "open";
#[cfg(not(target_os = "macos"))]
const OPENER: &str = "xdg-open";

/// Starts the browser without waiting for it; `false` if this machine has no program for that.
pub(super) fn open(address: &str) -> bool {
    let quiet = Command::new(OPENER)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    quiet.is_ok()
}
