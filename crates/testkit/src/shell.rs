//! A shell for the commands of documents, isolated from the user's own configuration.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::command::remove_variables;

#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error("cannot run bash")]
    Run(#[from] io::Error),
    #[error("{status}: {output}")]
    Failed {
        /// Exit code 124 means that the command timed out.
        status: std::process::ExitStatus,
        output: String,
    },
}

/// A shell with its own home directory, which is removed when it is dropped.
#[derive(Debug)]
pub struct Shell {
    home: TempDir,
    kubeconfig: PathBuf,
    directory: PathBuf,
}

impl Shell {
    /// Commands use this kubeconfig and start in this directory.
    pub fn new(kubeconfig: &Path, directory: &Path) -> io::Result<Self> {
        let home = tempfile::Builder::new().prefix("vmafx-shell-").tempdir()?;
        std::fs::create_dir(home.path().join("bin"))?;
        Ok(Self { home, kubeconfig: kubeconfig.to_owned(), directory: directory.to_owned() })
    }

    /// Puts a program into `PATH` under a name.
    pub fn program(&self, name: &str, path: &Path) -> io::Result<()> {
        symlink(path, self.home.path().join("bin").join(name))
    }

    /// Puts a script into `PATH` under a name.
    pub fn script(&self, name: &str, text: &str) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.home.path().join("bin").join(name);
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
    }

    /// A command that runs these lines until the first one fails, with a timeout.
    pub fn command(&self, lines: &str, timeout_seconds: u32) -> Command {
        let mut command = Command::new("timeout");
        command.arg(timeout_seconds.to_string()).args(["bash", "-euo", "pipefail", "-c", lines]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = [self.home.path().join("bin")].into_iter().chain(std::env::split_paths(&path));
        // If the paths cannot be joined, the command fails because it finds no program.
        command.env("PATH", std::env::join_paths(paths).unwrap_or_default());
        remove_variables(&mut command, &["VMAFX_", "KUBE", "HELM_", "XDG_"]);
        command.env("HOME", self.home.path()).env("KUBECONFIG", &self.kubeconfig);
        command.current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    /// Runs these lines and returns their standard output.
    pub fn run(&self, lines: &str, timeout_seconds: u32) -> Result<String, ShellError> {
        let output = self.command(lines, timeout_seconds).output()?;
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        if output.status.success() {
            Ok(out.into_owned())
        } else {
            Err(ShellError::Failed { status: output.status, output: format!("{out}{err}") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_run_until_the_first_that_fails() {
        let shell = Shell::new(Path::new("/nowhere"), Path::new("/")).unwrap();
        shell.script("greet", "#!/bin/sh\necho \"$@\"\n").unwrap();
        assert_eq!(shell.run("greet a; echo $KUBECONFIG; pwd", 10).unwrap(), "a\n/nowhere\n/\n");
        let error = shell.run("echo one\nfalse | true\necho two", 10).unwrap_err();
        assert!(matches!(&error, ShellError::Failed { output, .. } if output == "one\n"), "{error}");
    }

    #[test]
    fn a_command_that_does_not_end_is_killed_at_its_timeout() {
        let shell = Shell::new(Path::new("/nowhere"), Path::new("/")).unwrap();
        let error = shell.run("exec tail -f /dev/null", 1).unwrap_err();
        assert!(matches!(error, ShellError::Failed { status, .. } if status.code() == Some(124)), "{error}");
    }
}
