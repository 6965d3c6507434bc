//! `make run`, as a person at a terminal meets it: what it prints works as printed.
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

/// It, without anything of a Kubernetes that the environment offers.
fn run(keep: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["run", &format!("--keep={keep}")]).stdin(Stdio::null()).stdout(Stdio::piped());
    command.env_remove("KUBEBUILDER_ASSETS").env_remove("KUBECONFIG");
    command
}

/// A PATH in which there is no Go.
fn without_go(command: &mut Command) {
    let path = env::var_os("PATH").unwrap();
    let others = env::split_paths(&path).filter(|directory| !directory.join("go").exists());
    command.env("PATH", env::join_paths(others).unwrap());
}

/// It, at work. Ended as by Ctrl-C when this is dropped, also by a test that fails.
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

/// What it prints until it is up.
fn until_up(running: &mut Running) -> (Vec<String>, BufReader<std::process::ChildStdout>) {
    let mut output = BufReader::new(running.0.stdout.take().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0, "it ended: {lines:#?}");
        if line.trim_end() == UP {
            return (lines, output);
        }
        lines.push(line.trim_end().to_owned());
    }
}

/// The lines that are there to be tried, behind the one that says so.
fn to_try(lines: &[String]) -> (&str, &[String]) {
    let at = lines.iter().position(|line| line == "==> to try next, in another terminal").unwrap();
    let (first, commands) = lines[at + 1..].split_first().unwrap();
    (first, commands)
}

/// Whether a directory that a line reads a file of is still there.
fn directory_of(line: &str) -> &Path {
    Path::new(line.strip_prefix(". ").unwrap()).parent().unwrap()
}

/// Tries everything that is printed, ends it with Ctrl-C, and sees that it ended well; what it had printed.
fn tried(mut command: Command, words: [&str; 3]) -> Vec<String> {
    let mut running = Running(command.spawn().unwrap());
    let (lines, mut rest) = until_up(&mut running);
    let (environment, commands) = to_try(&lines);
    assert_eq!(commands.len(), 3, "{commands:?}");
    for (command, word) in commands.iter().zip(words) {
        let script = format!("{environment}\n{command}");
        let mut bash = Command::new("bash");
        // As in a terminal that knows nothing of ours.
        bash.args(["-c", &script]).env_remove("KUBECONFIG").env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
        let output = bash.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains(word), "{command}\n{said}{error}");
    }
    assert!(directory_of(environment).exists());
    // Whoever is not heard to the end may not come to it.
    let reading = thread::spawn(move || rest.read_to_string(&mut String::new()));
    assert!(running.interrupt().success());
    reading.join().unwrap().unwrap();
    assert!(!directory_of(environment).exists(), "something is left behind");
    lines
}

#[test]
#[ignore = "builds programs: `make e2e` runs it"]
fn the_commands_that_it_prints_work_as_printed() {
    tried(run("1"), ["Succeeded", "Succeeded", "completed"]);
}

#[test]
#[ignore = "builds programs: `make e2e` runs it"]
fn three_programs_and_no_go_are_enough_for_kubernetes() {
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
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("  vmjob/sample     Succeeded   score 92.5"), "{said}");
    assert!(said.contains("==> vmafx score says the same: 92.5"), "{said}");
    assert!(said.contains("KEEP=1") && !said.contains(UP), "{said}");
    assert!(!directory.path().join("empty").exists(), "something was built");
}

#[test]
#[ignore = "builds programs: `make e2e` runs it"]
fn without_go_and_without_programs_it_says_so_and_shows_the_score_all_the_same() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = run("1");
    without_go(&mut command);
    command.env("VMAFX_CACHE_DIR", empty.path());
    let lines = tried(command, ["completed", "completed", "completed"]);
    assert!(lines[0].starts_with("==> no Kubernetes here: there is no Go to build it with"), "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.starts_with("  job              completed   score 92.5")),
        "{lines:#?}"
    );
}
