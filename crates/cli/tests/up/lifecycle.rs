//! Start and shutdown of `vmafx up`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::fixture::{Fixture, RAW};

#[tokio::test(flavor = "multi_thread")]
async fn only_the_user_can_read_the_token_and_it_is_removed_at_exit() {
    let fixture = Fixture::new();
    let up = fixture.up(&[], &[]).await;
    for name in ["", "token", "tokens.yaml", "up.json"] {
        let mode = fs::metadata(fixture.data_directory().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
    let token = fs::read_to_string(fixture.data_directory().join("token")).unwrap();
    let second = fixture.run(&["up", "--grpc-listen=127.0.0.1:0", "--http-addr=0", "--node-http-addr=0"]);
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(second.stderr.contains("another `vmafx up` uses"), "{second:?}");
    assert_eq!(
        fs::read_to_string(fixture.data_directory().join("token")).unwrap(),
        token,
        "the first one is not affected"
    );
    fixture.run(&["get", "jobs"]).ok();

    up.interrupt();
    let (code, log) = up.wait();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("vmafx is up") && !log.contains(&token), "{log}");
    for name in ["token", "tokens.yaml", "up.json"] {
        assert!(!fixture.data_directory().join(name).exists(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_exceeds_the_grace_period_is_done_after_the_next_start() {
    let fixture = Fixture::new();
    let up = fixture.up(&["--graceful-shutdown=0s"], &[]).await;
    let long = fixture.submit(["long.yuv", "long.yuv"], &[]);
    let waiting = fixture.submit(["ref.yuv", "dis.yuv"], &["--priority=9"]);
    fixture.until(&long, |job| job["status"] == "running").await;
    up.interrupt();
    let (code, output) = up.wait();
    assert_eq!(code, Some(0), "{output}");
    let scratch = fixture.data_directory().join("scratch/jobs");
    assert!(
        fs::read_dir(&scratch).map_or(0, Iterator::count) == 0,
        "nothing is left in {}",
        scratch.display()
    );

    let _up = fixture.up(&[], &[]).await;
    let done = fixture.until(&waiting, |job| job["status"] == "completed").await;
    assert_eq!(done["attempt"], 1);
    let again = fixture.until(&long, |job| job["attempt"] == 2).await;
    assert_eq!(again["lostAttempts"], 0, "{again}");
    fixture.run(&["cancel", &long]).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_finishes_within_the_grace_period() {
    let fixture = Fixture::new();
    let whole = fs::read(fixture.path("dis.yuv")).unwrap();
    fs::write(fixture.path("some.yuv"), whole.repeat(20)).unwrap();
    let up = fixture.up(&["--graceful-shutdown=2m"], &[]).await;
    let job = fixture.submit(["some.yuv", "some.yuv"], &[]);
    fixture.until(&job, |job| job["status"] != "pending").await;
    up.interrupt();
    let (code, log) = up.wait();
    assert_eq!(code, Some(0), "{log}");
    let _up = fixture.up(&[], &[]).await;
    let done = fixture.job(&job);
    assert_eq!((&done["status"], &done["attempt"]), (&"completed".into(), &1.into()), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupting_a_wait_does_not_cancel_the_job() {
    let fixture = Fixture::new();
    let _up = fixture.up(&[], &[]).await;
    let mut waiting =
        fixture.vmafx(&[&["submit", "long.yuv", "long.yuv", "--key=k", "--wait"], &RAW[..]].concat());
    let mut waiting = waiting.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let running = async || {
        let jobs = fixture.run(&["get", "jobs", "--status=running", "-o", "json"]).ok();
        let jobs: serde_json::Value = serde_json::from_str(&jobs).unwrap();
        jobs["jobs"][0]["id"].as_str().map(str::to_owned)
    };
    let id =
        vmafx_testkit::wait::until(std::time::Duration::from_mins(1), "the job runs", running).await.unwrap();
    vmafx_testkit::command::interrupt(&waiting);
    let stderr = std::io::read_to_string(waiting.stderr.take().unwrap()).unwrap();
    assert_eq!(waiting.wait().unwrap().code(), Some(130), "{stderr}");
    assert!(stderr.contains("the jobs continue"), "{stderr}");
    assert_eq!(fixture.job(&id)["status"], "running");
    fixture.run(&["cancel", &id]).ok();
}
