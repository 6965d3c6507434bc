//! Programs that a test writes and runs.

use std::io;
use std::path::Path;
use std::process::Command;

/// Writes a program and makes it one that can be run.
///
/// Another process writes it: a program that is started by another thread just then would inherit the open file, and a
/// file that somebody may write to cannot be run.
pub fn write(program: &Path, text: &str) -> io::Result<()> {
    let write = r#"printf %s "$1" > "$0" && chmod 755 "$0""#;
    let status = Command::new("sh").args(["-c", write]).arg(program).arg(text).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("sh ended with {status}"))) }
}
