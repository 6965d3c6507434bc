//! What a decoder that was taken over can do: a script in its place tries everything, and writes down how it went.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use crate::stage::{Stage, ffmpeg, node, run_with};
use vmafx_node::failure::Reason;
use vmafx_node::launch::{Launcher, Unscored};
use vmafx_node::paths::local::FileId;

/// Tries one thing after the other; `OUT` is where to write, `PORT` where somebody listens.
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
try a_new_namespace    unshare --user true
try raise_a_limit      bash -c 'ulimit -c unlimited'
} > OUT.result
{ ulimit -c; ulimit -n; ulimit -d; ulimit -f; umask; grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/self/status; } > OUT.limits 2>/dev/null
exit 1
"#;

struct Scene {
    stage: Stage,
    _listener: TcpListener,
    script: String,
}

fn scene() -> Scene {
    let stage = Stage::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let clip = stage.write("clip.mp4", [7; 1000]);
    let secret = stage.write("secret", "s3cr3t");
    let outside = stage.path("outside");
    let script = ATTEMPTS
        .replace("OUTSIDE", &outside.display().to_string())
        .replace("OUT", &stage.scratch().join("out").display().to_string())
        .replace("CLIP", &clip.display().to_string())
        .replace("SECRET", &secret.display().to_string())
        .replace("AGENT", &std::process::id().to_string())
        .replace("FFMPEG", &ffmpeg().display().to_string())
        .replace("PORT", &listener.local_addr().unwrap().port().to_string());
    Scene { stage, _listener: listener, script }
}

fn result(stage: &Stage) -> Vec<String> {
    let text = fs::read_to_string(stage.scratch().join("out.result")).unwrap();
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// What is possible without any confinement; here to show that the script can tell.
#[test]
fn a_process_that_is_not_confined_can_do_nearly_all_of_it() {
    let scene = scene();
    let script = scene.script.replace("try ffmpeg_by_http", ": ");
    Command::new(scene.stage.script("free", &script)).status().unwrap();
    let found = result(&scene.stage);
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
    ] {
        assert!(found.contains(&format!("{name} yes")), "{name}: {found:?}");
    }
}

#[tokio::test]
async fn a_decoder_can_read_its_clip_and_write_to_scratch_and_nothing_else() {
    let scene = scene();
    let clip = scene.stage.path("clip.mp4");
    let mut task = scene.stage.task(&clip, &clip);
    task.ffmpeg = Some(scene.stage.script("ffmpeg", &scene.script));
    let launcher = Launcher::new(node());
    let failed = run_with(&launcher, &task).await;
    assert!(failed.is_err(), "{failed:?}");
    let (allowed, denied): (Vec<String>, Vec<String>) =
        result(&scene.stage).into_iter().partition(|line| line.ends_with(" yes"));
    assert_eq!(
        allowed,
        ["read_an_input yes", "write_to_scratch yes", "run_a_program yes"],
        "denied: {denied:?}"
    );
    assert!(denied.len() == 14, "{denied:?}");
    assert!(!scene.stage.path("outside").exists());
    assert_eq!(fs::read(&clip).unwrap(), [7; 1000]);

    let limits = fs::read_to_string(scene.stage.scratch().join("out.limits")).unwrap();
    let limits: Vec<&str> = limits.lines().collect();
    assert_eq!(
        limits[..5],
        ["0", "256", "1048576", "1048576", "0077"],
        "core, files, data, file size, umask"
    );
}

/// Between the agent's look at a clip and the worker's, somebody puts another file in its place.
#[tokio::test]
async fn a_clip_that_was_replaced_after_the_check_is_not_read() {
    let stage = Stage::new();
    let mut task = stage.golden_task();
    let clip = stage.path("clip.yuv");
    fs::copy(&task.distorted.path, &clip).unwrap();
    task.distorted.path.clone_from(&clip);
    task.distorted.file = Some(FileId::of(fs::File::open(&clip).unwrap()).unwrap());
    let launcher = Launcher::new(node());
    run_with(&launcher, &task).await.unwrap();

    fs::rename(&clip, stage.path("moved.yuv")).unwrap();
    fs::copy(stage.path("moved.yuv"), &clip).unwrap();
    let Err(Unscored::Failed(failure)) = run_with(&launcher, &task).await else { panic!("it was scored") };
    assert_eq!(failure.reason, Reason::InputDenied);
    assert_eq!(failure.message, "s3://bucket/distorted was replaced by another file after it was checked");
}

#[tokio::test]
async fn everything_this_kernel_has_is_active() {
    let stage = Stage::new();
    let launcher = Launcher::new(node());
    run_with(&launcher, &stage.golden_task()).await.unwrap();
    let said = launcher.confinement().unwrap();
    for word in [
        "ends with its agent",
        "first to go when memory ends",
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
        assert!(said.iter().any(|said| said == word), "{word}: {said:?}");
    }
    assert!(said.iter().any(|said| said.contains("landlock")), "{said:?}");
}
