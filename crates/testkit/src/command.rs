//! Commands that tests run to their end.

use std::process::{Child, Command, Output};

use rustix::process::{Pid, Signal, kill_process};

/// The exit code and the texts of a command that has ended.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandOutput {
    #[expect(clippy::unwrap_used, reason = "a test fails where its command cannot be started")]
    pub fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// The standard output of a successful command.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The error message of a failed command, which has no backtrace.
    #[track_caller]
    pub fn error(self) -> String {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert!(self.stderr.starts_with("error: ") && !self.stderr.contains("backtrace"), "{self:?}");
        self.stderr
    }

    /// The same, of a command that prints nothing else.
    #[track_caller]
    pub fn only_error(self) -> String {
        assert_eq!(self.stdout, "", "{self:?}");
        self.error()
    }

    /// The words of each line of a successful command's output.
    #[track_caller]
    pub fn rows(self) -> Vec<Vec<String>> {
        self.ok().lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    }
}

/// Hides the variables of this process whose names start with one of these from the command.
pub fn remove_variables(command: &mut Command, prefixes: &[&str]) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if prefixes.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
}

/// Sends the signal of Ctrl-C.
#[expect(clippy::unwrap_used, reason = "a test fails where its own child cannot be signalled")]
pub fn interrupt(child: &Child) {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
}
