//! The example daemon as a real process: signals, exit codes, output.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// An example, built by cargo beside the tests.
fn example(name: &str) -> Command {
    let tests: PathBuf = std::env::current_exe().unwrap();
    let target = tests.ancestors().nth(2).unwrap();
    let program = target.join("examples").join(name);
    assert!(
        program.exists(),
        "{} is missing: `--test` skips examples, so run `cargo test -p vmafx-kit <name>`",
        program.display()
    );
    Command::new(program)
}

fn daemon(variables: &[(&str, &str)]) -> Command {
    let mut command = example("kit_daemon");
    command.env_clear().envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn signal(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
}

#[test]
fn sigterm_stops_it_gracefully_and_its_logs_are_json() {
    let mut child = daemon(&[]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let ready = lines.find(|line| line.contains("\"message\":\"ready\"")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&ready).unwrap()["gate"], "worker");
    signal(&child);
    let rest: Vec<_> = lines.collect();
    assert!(rest.iter().any(|line| line.contains("shutting down")), "{rest:?}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_bad_variable_is_named_and_the_exit_code_is_two() {
    let (code, _, stderr) = output(&mut daemon(&[("VMAFX_EXAMPLE_ADDR", "8081")]));
    assert_eq!(code, Some(2));
    assert!(stderr.starts_with("error: VMAFX_EXAMPLE_ADDR cannot be \"8081\": "), "{stderr}");
}

#[test]
fn a_renamed_variable_is_refused() {
    let (code, _, stderr) = output(&mut daemon(&[("VMAFX_EXAMPLE_PORT", "8081")]));
    assert_eq!(code, Some(2));
    assert_eq!(stderr, "error: VMAFX_EXAMPLE_PORT is no longer read: set VMAFX_EXAMPLE_ADDR instead\n");
}

#[test]
fn settings_that_do_not_go_together_are_refused_at_start() {
    let both = [("VMAFX_CONTROLLER_TOKEN", "a"), ("VMAFX_CONTROLLER_TOKEN_FILE", "b")];
    let (code, _, stderr) = output(&mut daemon(&both));
    assert_eq!(code, Some(2), "{stderr}");
    let last = "  caused by: VMAFX_CONTROLLER_TOKEN_FILE and VMAFX_CONTROLLER_TOKEN are both set: \
                give only one of them\n";
    assert!(stderr.ends_with(last), "{stderr}");
}

#[test]
fn a_port_in_use_is_told_with_its_variable_and_cause() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let (code, _, stderr) = output(&mut daemon(&[("VMAFX_EXAMPLE_ADDR", &addr)]));
    assert_eq!(code, Some(1));
    let expected = format!("error: cannot listen on {addr} (VMAFX_EXAMPLE_ADDR)\n  caused by: Address");
    assert!(stderr.contains(&expected), "{stderr}");
}

#[test]
fn help_is_an_answer_and_no_error() {
    let (code, stdout, stderr) = output(daemon(&[]).arg("--help"));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for part in ["VMAFX_EXAMPLE_ADDR", "VMAFX_LOG_LEVEL", "VMAFX_CONTROLLER_TOKEN_FILE"] {
        assert!(stdout.contains(part), "{stdout}");
    }
}

#[test]
fn a_panic_ends_the_process_and_leaves_its_place_in_the_logs() {
    let (code, _, stderr) = output(example("kit_panicking").env_clear());
    assert_eq!(code, Some(1));
    let text = "index out of bounds: the len is 0 but the index is 7";
    let line: serde_json::Value = serde_json::from_str(stderr.lines().next().unwrap()).unwrap();
    assert_eq!(line["message"], format!("panic: {text}"));
    assert!(line["location"].as_str().unwrap().contains("examples/kit_panicking.rs:"), "{line}");
    assert_eq!(line["span"]["task"], "worker");
    assert!(stderr.ends_with(&format!("error: the task worker panicked: {text}\n")), "{stderr}");
}
