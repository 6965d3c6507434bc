//! `make run`: the commands that it prints work as printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

use std::env;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use vmafx_testkit::kube::assets::{Binary, ensure};

const UP: &str = "==> up until Ctrl-C";

/// `xtask run` without the Kubernetes settings of the environment.
fn run(keep: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["run", &format!("--keep={keep}")]).stdin(Stdio::null()).stdout(Stdio::piped());
    command.env_remove("KUBEBUILDER_ASSETS").env_remove("KUBECONFIG");
    command
}

/// Removes Go from PATH.
fn without_go(command: &mut Command) {
    let path = env::var_os("PATH").unwrap();
    let others = env::split_paths(&path).filter(|directory| !directory.join("go").exists());
    command.env("PATH", env::join_paths(others).unwrap());
}

/// Interrupted as by Ctrl-C on drop, also when a test fails.
struct Running(Child);

impl Running {
    fn interrupt(&mut self) -> ExitStatus {
        if let Ok(None) = self.0.try_wait() {
            kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
        }
        self.0.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.interrupt();
    }
}

/// The lines until everything is up, and the rest of the output.
fn until_up(running: &mut Running) -> (Vec<String>, BufReader<std::process::ChildStdout>) {
    let mut output = BufReader::new(running.0.stdout.take().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0, "it exited: {lines:#?}");
        if line.trim_end() == UP {
            return (lines, output);
        }
        lines.push(line.trim_end().to_owned());
    }
}

/// The printed commands: the one that sets up the shell, and those to try.
fn printed_commands(lines: &[String]) -> (&str, &[String]) {
    let at = lines.iter().position(|line| line == "==> try next, in another terminal").unwrap();
    let (first, commands) = lines[at + 1..].split_first().unwrap();
    (first, commands)
}

/// Directory of the file that the set-up command reads.
fn directory_of(line: &str) -> &Path {
    Path::new(line.strip_prefix(". ").unwrap()).parent().unwrap()
}

/// Runs all printed commands, interrupts `make run`, and checks its exit. Returns the printed lines.
fn run_printed_commands(mut command: Command, words: [&str; 3]) -> Vec<String> {
    let mut running = Running(command.spawn().unwrap());
    let (lines, mut rest) = until_up(&mut running);
    let (environment, commands) = printed_commands(&lines);
    assert_eq!(commands.len(), 3, "{commands:?}");
    for (command, word) in commands.iter().zip(words) {
        let script = format!("{environment}\n{command}");
        let mut bash = Command::new("bash");
        // A terminal without our environment.
        bash.args(["-c", &script]).env_remove("KUBECONFIG").env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
        let output = bash.output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && stdout.contains(word), "{command}\n{stdout}{error}");
    }
    assert!(directory_of(environment).exists());
    // The output is read to its end, because a full pipe would block the process.
    let reading = thread::spawn(move || rest.read_to_string(&mut String::new()));
    assert!(running.interrupt().success());
    reading.join().unwrap().unwrap();
    assert!(!directory_of(environment).exists(), "the directory was not removed");
    lines
}

#[test]
#[ignore = "builds programs: `make e2e` runs it"]
fn the_printed_commands_work() {
    run_printed_commands(run("1"), ["Succeeded", "Succeeded", "completed"]);
}

#[test]
#[ignore = "builds programs: `make e2e` runs it"]
fn three_programs_without_go_are_enough_for_kubernetes() {
    let needed = [Binary::Etcd, Binary::KubeApiserver, Binary::Kubectl];
    let (found, directory) = (ensure(&needed).unwrap(), tempfile::tempdir().unwrap());
    for binary in needed {
        symlink(found.path(binary), directory.path().join(binary.name())).unwrap();
    }
    let mut command = run("0");
    without_go(&mut command);
    command
        .env("KUBEBUILDER_ASSETS", directory.path())
        .env("VMAFX_CACHE_DIR", directory.path().join("empty"));
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}");
    assert!(stdout.contains("  vmjob/sample     Succeeded   score 92.5"), "{stdout}");
    assert!(stdout.contains("==> vmafx score gives the same: 92.5"), "{stdout}");
    assert!(stdout.contains("KEEP=1") && !stdout.contains(UP), "{stdout}");
    assert!(!directory.path().join("empty").exists(), "something was built");
}

#[test]
#[ignore = "builds programs: `make e2e` runs it"]
fn without_go_and_without_programs_it_scores_with_the_queue_alone() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = run("1");
    without_go(&mut command);
    command.env("VMAFX_CACHE_DIR", empty.path());
    let lines = run_printed_commands(command, ["completed", "completed", "completed"]);
    assert!(lines[0].starts_with("==> no Kubernetes here: there is no Go to build it"), "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.starts_with("  job              completed   score 92.5")),
        "{lines:#?}"
    );
}
