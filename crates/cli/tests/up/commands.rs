//! The commands that call the controller of `vmafx up`.

use std::fs;

use serde_json::Value;
use vmafx_testkit::command::CommandOutput;

use crate::fixture::{Fixture, RAW};

const PAIR: [&str; 2] = ["ref.yuv", "dis.yuv"];

#[tokio::test(flavor = "multi_thread")]
async fn a_pair_is_scored_shown_watched_and_labelled() {
    let fixture = Fixture::new();
    let _up = fixture.up(&[], &[]).await;
    let waited = fixture.run(&[&["submit"][..], &PAIR, &RAW, &["--wait"]].concat());
    assert_eq!(waited.code, Some(0), "{waited:?}");
    assert!(waited.stdout.contains("completed") && waited.stdout.contains("92.521"), "{waited:?}");

    let id = fixture.submit(PAIR, &["--priority", "3"]);
    let watched = fixture.run(&["watch", &id]).ok();
    assert!(watched.lines().last().unwrap().ends_with("completed  dis.yuv  92.521"), "{watched}");
    assert!(fixture.run(&["explain", &id]).ok().contains("The job is completed."));
    assert!(fixture.run(&["label", &id, "77.5"]).ok().contains("the job is a training sample"));

    let wide = fixture.run(&["get", "jobs", "-o", "wide"]).ok();
    assert!(wide.contains(&id) && wide.contains("vmaf_v0.6.1"), "{wide}");
    let job = fixture.job(&id);
    assert_eq!((&job["priority"], &job["groundTruth"]), (&Value::from(3), &Value::from(77.5)));
    fixture.run(&["label", &id, "4", "--scale", "mos"]).ok();
    assert_eq!(
        fixture.job(&id)["groundTruth"],
        Value::from(75.0),
        "a mean opinion score is converted to the scale of VMAF"
    );
    let refused = fixture.run(&["label", &id, "6", "--scale", "mos"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("1 to 5"), "{refused:?}");
    let yaml = fixture.run(&["get", "job", &id, "-o", "yaml"]).ok();
    assert!(yaml.contains("status: completed"), "{yaml}");
    let nodes: Value = serde_json::from_str(&fixture.run(&["get", "nodes", "-o", "json"]).ok()).unwrap();
    assert_eq!((&nodes["nodes"][0]["slots"], &nodes["nodes"][1]), (&Value::from(1), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_pairs_is_a_job_each_and_the_worst_decides_the_exit_code() {
    let fixture = Fixture::new();
    let _up = fixture.up(&["--slots=2"], &[]).await;
    fs::write(
        fixture.path("good.csv"),
        "distorted,reference,key\ndis.yuv,ref.yuv,a\nref.yuv,ref.yuv,b\ndis.yuv,ref.yuv,a\n",
    )
    .unwrap();
    let list = |file: &str, more: &[&str]| {
        fixture.run(&[&["submit", "--csv", file, "--wait"], &RAW[..], more].concat())
    };
    let all: Value = serde_json::from_str(&list("good.csv", &["-o", "json"]).ok()).unwrap();
    let jobs = all["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), &jobs[0]["id"]), (3, &jobs[2]["id"]), "one key is one job");
    assert!(jobs[1]["score"].as_f64() > jobs[0]["score"].as_f64());

    let low = list("good.csv", &["--min-score", "95"]);
    assert_eq!(low.code, Some(1), "{low:?}");
    assert!(low.stderr.contains("92.521 is below 95"), "{low:?}");

    fs::write(fixture.path("bad.csv"), "reference,distorted\nref.yuv,cut.yuv\nref.yuv,dis.yuv\n").unwrap();
    let bad = list("bad.csv", &[]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    assert!(bad.stdout.contains("failed") && bad.stdout.contains("completed"), "{bad:?}");
    assert!(bad.stdout.contains("cut.yuv"), "the message names the clip: {bad:?}");
    let failed = fixture.run(&["get", "jobs", "--status", "failed"]).ok();
    assert!(failed.contains("cut.yuv") && !failed.contains("completed"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_no_node_can_run_is_explained_and_can_be_cancelled() {
    let fixture = Fixture::new();
    let _up = fixture.up(&[], &[]).await;
    let id = fixture.submit(PAIR, &["--backend", "cuda"]);
    let why = fixture.run(&["explain", &id]).ok();
    assert!(why.contains("cuda"), "{why}");
    let why: Value = serde_json::from_str(&fixture.run(&["explain", &id, "-o", "json"]).ok()).unwrap();
    assert_eq!(why["reason"], "NoBackend");
    let mixed =
        fixture.run(&["cancel", "00000000-0000-7000-8000-000000000000", &id, "--reason", "no GPU here"]);
    assert_eq!(mixed.code, Some(2), "{mixed:?}");
    assert!(mixed.stderr.contains("not found"), "{mixed:?}");
    let job = fixture.job(&id);
    assert_eq!(job["status"], "cancelled");
    assert!(job["error"].as_str().unwrap().contains("no GPU here"), "{job}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_one_line() {
    let fixture = Fixture::new();
    let nobody = fixture.run(&["get", "jobs"]);
    assert_eq!(nobody.code, Some(2));
    assert!(
        nobody.stderr.starts_with(
            "error: no controller is configured, and none runs on this machine: start one with `vmafx up`"
        ),
        "{nobody:?}"
    );

    let _up = fixture.up(&["--root=."], &[]).await;
    let outside = fixture.run(&["submit", "/etc/passwd", "dis.yuv"]);
    assert_eq!(outside.code, Some(2));
    assert!(outside.stderr.contains("\"/etc/passwd\" is outside the scoring roots"), "{outside:?}");
    let unknown = fixture.run(&["explain", "x"]);
    assert_eq!((unknown.code, unknown.stderr.as_str()), (Some(2), "error: job \"x\" not found\n"));
    let mut stranger = fixture.vmafx(&["get", "jobs"]);
    let stranger = CommandOutput::of(stranger.env("VMAFX_CONTROLLER_TOKEN", "somebody-else-entirely"));
    assert_eq!(stranger.code, Some(2), "{stranger:?}");
    assert!(stranger.stderr.contains("VMAFX_CONTROLLER_TOKEN"), "{stranger:?}");
}

#[test]
fn every_shell_gets_its_completions() {
    let fixture = Fixture::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(fixture.run(&["completion", shell]).ok().contains("submit"));
    }
}
