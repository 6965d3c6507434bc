//! Executable scripts of tests.

use std::io;
use std::path::Path;
use std::process::Command;

/// Writes an executable file.
///
/// A child process writes it: a program that another thread starts at this moment would inherit the open file, and a
/// file that is open for writing cannot be executed.
pub fn write(program: &Path, text: &str) -> io::Result<()> {
    let write = r#"printf %s "$1" > "$0" && chmod 755 "$0""#;
    let status = Command::new("sh").args(["-c", write]).arg(program).arg(text).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("sh exited with {status}"))) }
}
