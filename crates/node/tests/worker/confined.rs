//! What a decoder that was taken over can do: a script in its place tries everything and records what succeeded.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use crate::fixture::{Fixture, ffmpeg, node, run_with};
use crate::unconfined::node_without;
use vmafx_job::FailureReason;
use vmafx_node::confine::ConfinementPolicy;
use vmafx_node::launch::{Launcher, Unscored};
use vmafx_node::paths::local::FileId;
use vmafx_testkit::old_kernel::MissingCall;

/// `OUT` is the prefix of its output files, `PORT` that of a listening socket.
const ATTEMPTS: &str = r#"
try() { name=$1; shift; if ( "$@" ) >/dev/null 2>&1; then echo "$name yes"; else echo "$name no"; fi; }
{
try read_an_input      cat CLIP
try write_to_scratch   touch OUT.file
try run_a_program      /usr/bin/env true
try read_a_secret      cat SECRET
try read_the_system    cat /etc/passwd
try list_the_root      ls /
try read_its_parent    cat /proc/$PPID/environ
try read_the_agent     cat /proc/AGENT/environ
try write_an_input     bash -c 'echo x >> CLIP'
try write_elsewhere    touch OUTSIDE
try run_from_scratch   bash -c 'cp /bin/true OUT.true; chmod 755 OUT.true; OUT.true'
try connect            bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT'
try send_a_datagram    bash -c 'exec 3<>/dev/udp/127.0.0.1/PORT'
try ffmpeg_by_http     FFMPEG -v error -i http://127.0.0.1:PORT/ -f null -
try signal_the_agent   kill -0 AGENT
try limit_the_agent    prlimit --pid AGENT --nofile
try a_new_namespace    unshare --user true
try raise_a_limit      bash -c 'ulimit -c unlimited'
} > OUT.result
{ ulimit -c; ulimit -n; ulimit -d; ulimit -f; umask; grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/self/status; } > OUT.limits 2>/dev/null
exit 1
"#;

struct Attacker {
    fixture: Fixture,
    _listener: TcpListener,
    script: String,
}

fn attacker() -> Attacker {
    let fixture = Fixture::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let clip = fixture.write("clip.mp4", [7; 1000]);
    let secret = fixture.write("secret", "s3cr3t");
    let outside = fixture.path("outside");
    let script = ATTEMPTS
        .replace("OUTSIDE", &outside.display().to_string())
        .replace("OUT", &fixture.scratch().join("out").display().to_string())
        .replace("CLIP", &clip.display().to_string())
        .replace("SECRET", &secret.display().to_string())
        .replace("AGENT", &std::process::id().to_string())
        .replace("FFMPEG", &ffmpeg().display().to_string())
        .replace("PORT", &listener.local_addr().unwrap().port().to_string());
    Attacker { fixture, _listener: listener, script }
}

fn result(fixture: &Fixture) -> Vec<String> {
    let text = fs::read_to_string(fixture.scratch().join("out.result")).unwrap();
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Proves that the script succeeds without confinement.
#[test]
fn a_process_that_is_not_confined_can_do_nearly_all_of_it() {
    let attacker = attacker();
    let script = attacker.script.replace("try ffmpeg_by_http", ": ");
    Command::new(attacker.fixture.script("free", &script)).status().unwrap();
    let found = result(&attacker.fixture);
    for name in [
        "read_an_input",
        "write_to_scratch",
        "run_a_program",
        "read_a_secret",
        "read_the_system",
        "list_the_root",
        "read_its_parent",
        "read_the_agent",
        "write_an_input",
        "write_elsewhere",
        "run_from_scratch",
        "connect",
        "send_a_datagram",
        "signal_the_agent",
        "limit_the_agent",
    ] {
        assert!(found.contains(&format!("{name} yes")), "{name}: {found:?}");
    }
}

#[tokio::test]
async fn a_decoder_can_read_its_clip_and_write_to_scratch_and_nothing_else() {
    let attacker = attacker();
    let clip = attacker.fixture.path("clip.mp4");
    let mut task = attacker.fixture.task(&clip, &clip);
    task.ffmpeg = Some(attacker.fixture.script("ffmpeg", &attacker.script));
    let launcher = Launcher::new(node());
    let failed = run_with(&launcher, &task).await;
    assert!(failed.is_err(), "{failed:?}");
    let (allowed, denied): (Vec<String>, Vec<String>) =
        result(&attacker.fixture).into_iter().partition(|line| line.ends_with(" yes"));
    assert_eq!(
        allowed,
        ["read_an_input yes", "write_to_scratch yes", "run_a_program yes"],
        "denied: {denied:?}"
    );
    assert!(denied.len() == 15, "{denied:?}");
    assert!(!attacker.fixture.path("outside").exists());
    assert_eq!(fs::read(&clip).unwrap(), [7; 1000]);

    let limits = fs::read_to_string(attacker.fixture.scratch().join("out.limits")).unwrap();
    let limits: Vec<&str> = limits.lines().collect();
    assert_eq!(
        limits[..5],
        ["0", "256", "1048576", "1048576", "0077"],
        "core, files, data, file size, umask"
    );
}

/// Only Landlock of Linux 6.12 and later denies signals, so the filter of system calls has to.
#[tokio::test]
async fn signals_to_other_processes_and_their_limits_are_denied_without_landlock() {
    let attacker = attacker();
    let clip = attacker.fixture.path("clip.mp4");
    let mut task = attacker.fixture.task(&clip, &clip);
    task.confinement = ConfinementPolicy::BestEffort;
    task.ffmpeg = Some(attacker.fixture.script("ffmpeg", &attacker.script));
    let launcher = Launcher::new(node_without(&attacker.fixture, MissingCall::Landlock));
    _ = run_with(&launcher, &task).await;
    let found = result(&attacker.fixture);
    for name in ["signal_the_agent", "limit_the_agent", "connect", "a_new_namespace"] {
        assert!(found.contains(&format!("{name} no")), "{name}: {found:?}");
    }
    assert!(found.contains(&"read_a_secret yes".to_owned()), "Landlock is in force: {found:?}");
}

/// Another file takes the place of a clip after the agent has checked it and before the worker opens it.
#[tokio::test]
async fn a_clip_that_was_replaced_after_the_check_is_not_read() {
    let fixture = Fixture::new();
    let mut task = fixture.golden_task();
    let clip = fixture.path("clip.yuv");
    fs::copy(&task.distorted.path, &clip).unwrap();
    task.distorted.path.clone_from(&clip);
    task.distorted.file = Some(FileId::of(fs::File::open(&clip).unwrap()).unwrap());
    let launcher = Launcher::new(node());
    run_with(&launcher, &task).await.unwrap();

    fs::rename(&clip, fixture.path("moved.yuv")).unwrap();
    fs::copy(fixture.path("moved.yuv"), &clip).unwrap();
    let Err(Unscored::Failed(failure)) = run_with(&launcher, &task).await else { panic!("it was scored") };
    assert_eq!(failure.reason, FailureReason::InputDenied);
    assert_eq!(failure.message, "s3://bucket/distorted was replaced by another file after it was checked");
}

#[tokio::test]
async fn every_measure_of_this_kernel_is_active() {
    let fixture = Fixture::new();
    let launcher = Launcher::new(node());
    run_with(&launcher, &fixture.golden_task()).await.unwrap();
    let measures = launcher.confinement().unwrap().measures;
    for name in [
        "killed with its agent",
        "first victim of the OOM killer",
        "no new privileges",
        "no capabilities",
        "not dumpable",
        "no core dumps",
        "few descriptors",
        "limited memory",
        "limited addresses",
        "limited CPU time",
        "limited files",
        "seccomp",
        "no sockets",
    ] {
        assert!(measures.iter().any(|measure| measure == name), "{name}: {measures:?}");
    }
    assert!(measures.iter().any(|measure| measure.contains("landlock")), "{measures:?}");
}
