//! What the other commands say.

use std::fs;

use serde_json::Value;

use crate::stage::{RAW, Stage};

const PAIR: [&str; 2] = ["ref.yuv", "dis.yuv"];

#[tokio::test(flavor = "multi_thread")]
async fn a_pair_is_scored_shown_watched_and_labelled() {
    let stage = Stage::set();
    let _up = stage.up(&[], &[]).await;
    let waited = stage.run(&[&["submit"][..], &PAIR, &RAW, &["--wait"]].concat());
    assert_eq!(waited.code, Some(0), "{waited:?}");
    assert!(waited.stdout.contains("completed") && waited.stdout.contains("92.521"), "{waited:?}");

    let id = stage.submit(PAIR, &["--priority", "3"]);
    let watched = stage.run(&["watch", &id]).ok();
    assert!(watched.lines().last().unwrap().ends_with("completed  dis.yuv  92.521"), "{watched}");
    assert!(stage.run(&["explain", &id]).ok().contains("The job is completed."));
    assert!(stage.run(&["label", &id, "77.5"]).ok().contains("labelled, a sample"));

    let wide = stage.run(&["get", "jobs", "-o", "wide"]).ok();
    assert!(wide.contains(&id) && wide.contains("vmaf_v0.6.1"), "{wide}");
    let job = stage.job(&id);
    assert_eq!((&job["priority"], &job["groundTruth"]), (&Value::from(3), &Value::from(77.5)));
    stage.run(&["label", &id, "4", "--scale", "mos"]).ok();
    assert_eq!(stage.job(&id)["groundTruth"], Value::from(75.0), "a mean opinion score is told as such");
    let refused = stage.run(&["label", &id, "6", "--scale", "mos"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("1 to 5"), "{refused:?}");
    let yaml = stage.run(&["get", "job", &id, "-o", "yaml"]).ok();
    assert!(yaml.contains("status: completed"), "{yaml}");
    let nodes: Value = serde_json::from_str(&stage.run(&["get", "nodes", "-o", "json"]).ok()).unwrap();
    assert_eq!((&nodes["nodes"][0]["slots"], &nodes["nodes"][1]), (&Value::from(1), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_pairs_is_a_job_each_and_the_worst_decides_the_exit_code() {
    let stage = Stage::set();
    let _up = stage.up(&["--slots=2"], &[]).await;
    fs::write(
        stage.path("good.csv"),
        "distorted,reference,key\ndis.yuv,ref.yuv,a\nref.yuv,ref.yuv,b\ndis.yuv,ref.yuv,a\n",
    )
    .unwrap();
    let list = |file: &str, more: &[&str]| {
        stage.run(&[&["submit", "--csv", file, "--wait"], &RAW[..], more].concat())
    };
    let all: Value = serde_json::from_str(&list("good.csv", &["-o", "json"]).ok()).unwrap();
    let jobs = all["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), &jobs[0]["id"]), (3, &jobs[2]["id"]), "one key is one job");
    assert!(jobs[1]["score"].as_f64() > jobs[0]["score"].as_f64());

    let low = list("good.csv", &["--min-score", "95"]);
    assert_eq!(low.code, Some(1), "{low:?}");
    assert!(low.stderr.contains("92.521 is below 95"), "{low:?}");

    fs::write(stage.path("bad.csv"), "reference,distorted\nref.yuv,cut.yuv\nref.yuv,dis.yuv\n").unwrap();
    let bad = list("bad.csv", &[]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    assert!(bad.stdout.contains("failed") && bad.stdout.contains("completed"), "{bad:?}");
    assert!(bad.stdout.contains("cut.yuv"), "the message names the clip: {bad:?}");
    let failed = stage.run(&["get", "jobs", "--status", "failed"]).ok();
    assert!(failed.contains("cut.yuv") && !failed.contains("completed"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_nobody_can_do_says_so_and_can_be_cancelled() {
    let stage = Stage::set();
    let _up = stage.up(&[], &[]).await;
    let id = stage.submit(PAIR, &["--backend", "cuda"]);
    let why = stage.run(&["explain", &id]).ok();
    assert!(why.contains("cuda"), "{why}");
    let why: Value = serde_json::from_str(&stage.run(&["explain", &id, "-o", "json"]).ok()).unwrap();
    assert_eq!(why["reason"], "NoBackend");
    let mixed =
        stage.run(&["cancel", "00000000-0000-7000-8000-000000000000", &id, "--reason", "no GPU here"]);
    assert_eq!(mixed.code, Some(2), "{mixed:?}");
    assert!(mixed.stderr.contains("not found"), "{mixed:?}");
    let job = stage.job(&id);
    assert_eq!(job["status"], "cancelled");
    assert!(job["error"].as_str().unwrap().contains("no GPU here"), "{job}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_said_in_one_line() {
    let stage = Stage::set();
    let nobody = stage.run(&["get", "jobs"]);
    assert_eq!(nobody.code, Some(2));
    assert!(
        nobody.stderr.starts_with(
            "error: no controller is named, and none runs on this machine: start one with `vmafx up`"
        ),
        "{nobody:?}"
    );

    let _up = stage.up(&["--root=."], &[]).await;
    let outside = stage.run(&["submit", "/etc/passwd", "dis.yuv"]);
    assert_eq!(outside.code, Some(2));
    assert!(outside.stderr.contains("\"/etc/passwd\" is outside the scoring roots"), "{outside:?}");
    let unknown = stage.run(&["explain", "x"]);
    assert_eq!((unknown.code, unknown.stderr.as_str()), (Some(2), "error: job \"x\" not found\n"));
    let mut stranger = stage.vmafx(&["get", "jobs"]);
    let stranger = crate::stage::Ran::of(stranger.env("VMAFX_CONTROLLER_TOKEN", "somebody-else-entirely"));
    assert_eq!(stranger.code, Some(2), "{stranger:?}");
    assert!(stranger.stderr.contains("VMAFX_CONTROLLER_TOKEN"), "{stranger:?}");
}

#[test]
fn every_shell_gets_its_completions() {
    let stage = Stage::set();
    for shell in ["bash", "zsh", "fish"] {
        assert!(stage.run(&["completion", shell]).ok().contains("submit"));
    }
}
