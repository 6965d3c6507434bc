//! A shell for the commands of documents: with the programs that a reader has, one cluster, and nothing of this user.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Why a command did not do what a document says.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// It could not be run.
    #[error("bash could not be run")]
    Run(#[from] io::Error),
    /// It failed.
    #[error("{status}: {said}")]
    Failed {
        /// How it ended; 124 is that it took too long.
        status: std::process::ExitStatus,
        /// What it printed.
        said: String,
    },
}

/// The shell. Its files are gone when it is dropped.
#[derive(Debug)]
pub struct Shell {
    home: TempDir,
    kubeconfig: PathBuf,
    directory: PathBuf,
}

impl Shell {
    /// For a cluster, in a directory.
    pub fn new(kubeconfig: &Path, directory: &Path) -> io::Result<Self> {
        let home = tempfile::Builder::new().prefix("vmafx-shell-").tempdir()?;
        std::fs::create_dir(home.path().join("bin"))?;
        Ok(Self { home, kubeconfig: kubeconfig.to_owned(), directory: directory.to_owned() })
    }

    /// Lets commands find a program under a name.
    pub fn program(&self, name: &str, path: &Path) -> io::Result<()> {
        symlink(path, self.home.path().join("bin").join(name))
    }

    /// Lets commands find a script under a name, such as one that puts something before the words of a program.
    pub fn script(&self, name: &str, text: &str) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.home.path().join("bin").join(name);
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
    }

    /// A command that runs these lines until the first that fails, for at most so many seconds.
    pub fn command(&self, lines: &str, seconds: u32) -> Command {
        let mut command = Command::new("timeout");
        command.arg(seconds.to_string()).args(["bash", "-euo", "pipefail", "-c", lines]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = [self.home.path().join("bin")].into_iter().chain(std::env::split_paths(&path));
        // What cannot be joined is not found, and that is told by the command.
        command.env("PATH", std::env::join_paths(paths).unwrap_or_default());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["VMAFX_", "KUBE", "HELM_", "XDG_"].iter().any(|start| text.starts_with(start)) {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.home.path()).env("KUBECONFIG", &self.kubeconfig);
        command.current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    /// Runs these lines; what they print.
    pub fn run(&self, lines: &str, seconds: u32) -> Result<String, ShellError> {
        let output = self.command(lines, seconds).output()?;
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        if output.status.success() {
            Ok(out.into_owned())
        } else {
            Err(ShellError::Failed { status: output.status, said: format!("{out}{err}") })
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
        assert!(matches!(&error, ShellError::Failed { said, .. } if said == "one\n"), "{error}");
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let shell = Shell::new(Path::new("/nowhere"), Path::new("/")).unwrap();
        let error = shell.run("exec tail -f /dev/null", 1).unwrap_err();
        assert!(matches!(error, ShellError::Failed { status, .. } if status.code() == Some(124)), "{error}");
    }
}
