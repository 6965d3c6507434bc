//! How `vmafx up` begins and ends.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::stage::{RAW, Stage};

#[tokio::test(flavor = "multi_thread")]
async fn the_token_is_for_its_user_alone_and_gone_at_the_end() {
    let stage = Stage::set();
    let up = stage.up(&[], &[]).await;
    for name in ["", "token", "tokens.yaml", "up.json"] {
        let mode = fs::metadata(stage.state().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
    let token = fs::read_to_string(stage.state().join("token")).unwrap();
    let second = stage.run(&["up", "--grpc-listen=127.0.0.1:0", "--http-addr=0", "--node-http-addr=0"]);
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(second.stderr.contains("vmafx up runs already in"), "{second:?}");
    assert_eq!(fs::read_to_string(stage.state().join("token")).unwrap(), token, "the first one goes on");
    stage.run(&["get", "jobs"]).ok();

    up.interrupt();
    let (code, said) = up.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("vmafx is up") && !said.contains(&token), "{said}");
    for name in ["token", "tokens.yaml", "up.json"] {
        assert!(!stage.state().join(name).exists(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_does_not_fit_into_the_grace_is_done_after_the_next_start() {
    let stage = Stage::set();
    let up = stage.up(&["--graceful-shutdown=0s"], &[]).await;
    let long = stage.submit(["long.yuv", "long.yuv"], &[]);
    let waiting = stage.submit(["ref.yuv", "dis.yuv"], &["--priority=9"]);
    stage.until(&long, |job| job["status"] == "running").await;
    up.interrupt();
    let (code, said) = up.end();
    assert_eq!(code, Some(0), "{said}");
    let scratch = stage.state().join("scratch/jobs");
    assert!(
        fs::read_dir(&scratch).map_or(0, Iterator::count) == 0,
        "nothing is left in {}",
        scratch.display()
    );

    let _up = stage.up(&[], &[]).await;
    let done = stage.until(&waiting, |job| job["status"] == "completed").await;
    assert_eq!(done["attempt"], 1);
    let again = stage.until(&long, |job| job["attempt"] == 2).await;
    assert_eq!(again["lostAttempts"], 0, "{again}");
    stage.run(&["cancel", &long]).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_finishes_when_it_has_the_time() {
    let stage = Stage::set();
    let whole = fs::read(stage.path("dis.yuv")).unwrap();
    fs::write(stage.path("some.yuv"), whole.repeat(20)).unwrap();
    let up = stage.up(&["--graceful-shutdown=2m"], &[]).await;
    let job = stage.submit(["some.yuv", "some.yuv"], &[]);
    stage.until(&job, |job| job["status"] != "pending").await;
    up.interrupt();
    let (code, said) = up.end();
    assert_eq!(code, Some(0), "{said}");
    let _up = stage.up(&[], &[]).await;
    let done = stage.job(&job);
    assert_eq!((&done["status"], &done["attempt"]), (&"completed".into(), &1.into()), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_stops_waiting_leaves_the_job_alone() {
    let stage = Stage::set();
    let _up = stage.up(&[], &[]).await;
    let mut waiting =
        stage.vmafx(&[&["submit", "long.yuv", "long.yuv", "--key=k", "--wait"], &RAW[..]].concat());
    let mut waiting = waiting.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let running = || {
        let jobs = stage.run(&["get", "jobs", "--status=running", "-o", "json"]).ok();
        let jobs: serde_json::Value = serde_json::from_str(&jobs).unwrap();
        jobs["jobs"][0]["id"].as_str().map(str::to_owned)
    };
    let found = async || running();
    let id = vmafx_testkit::wait::until(std::time::Duration::from_mins(1), "it runs", found).await.unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(waiting.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let said = std::io::read_to_string(waiting.stderr.take().unwrap()).unwrap();
    assert_eq!(waiting.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("the jobs go on"), "{said}");
    assert_eq!(stage.job(&id)["status"], "running");
    stage.run(&["cancel", &id]).ok();
}
