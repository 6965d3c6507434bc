//! `submit`.

use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use vmafx_testkit::command::CommandOutput;
use vmafx_testkit::wait;

use crate::harness::{Harness, RunningCommand, TIMEOUT, failed, scored};

async fn names(harness: &Harness) -> Vec<String> {
    harness
        .jobs()
        .list(&ListParams::default())
        .await
        .unwrap()
        .iter()
        .map(kube::ResourceExt::name_any)
        .collect()
}

const PAIRS: &str = "reference,distorted,name,priority,min_score\n\
    s3://b/r.mp4,s3://b/720p.mp4,,5,\n\
    # mobile\n\
    s3://b/r.mp4,s3://b/360p.mp4,mobile,,70\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_file_creates_its_jobs_once() {
    let harness = Harness::new().await;
    let file = harness.write("pairs.csv", PAIRS);
    let command = [
        "submit",
        "-f",
        &file,
        "--labels",
        "batch=x",
        "--min-score=90",
        "--model=vmaf_v0.6.1",
        "--name-prefix=n",
    ];
    let ran = harness.kube(&command);
    assert_eq!(ran.stderr, "2 created, 0 unchanged\n");
    assert_eq!(ran.rows()[2][1..], ["720p.mp4", "created"]);
    let all = names(&harness).await;
    assert!(all.len() == 2 && all.contains(&"mobile".to_owned()), "{all:?}");
    assert!(all.iter().any(|name| name.starts_with("n-720p-")), "{all:?}");
    let mobile = harness.jobs().get("mobile").await.unwrap();
    assert_eq!((&mobile.data["spec"]["minScore"], &mobile.data["spec"]["priority"]), (&json!(70), &json!(0)));
    assert_eq!(mobile.labels()["batch"], "x");
    assert_eq!(mobile.managed_fields()[0].manager.as_deref(), Some("kubectl-vmafx"));

    harness.kube(&["cancel", "mobile"]).ok();
    let again = harness.kube(&command);
    assert_eq!(again.stderr, "0 created, 2 unchanged\n");
    assert_eq!(again.rows()[3], ["mobile", "360p.mp4", "unchanged"]);
    assert_eq!(names(&harness).await.len(), 2);

    harness.write("pairs.csv", &format!("{PAIRS}s3://b/r.mp4,s3://b/new.mp4,,,\n"));
    assert_eq!(harness.kube(&command).stderr, "1 created, 2 unchanged\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_the_same_name_that_differs_is_reported_and_left_alone() {
    let harness = Harness::new().await;
    let file = harness.write("pairs.csv", PAIRS);
    harness.kube(&["submit", "-f", &file]).ok();
    let priority = Patch::Merge(json!({ "spec": { "priority": 9 } }));
    harness.jobs().patch("mobile", &PatchParams::default(), &priority).await.unwrap();
    harness.write("pairs.csv", &format!("{PAIRS}s3://b/r.mp4,s3://b/new.mp4,,,\n"));
    let error = harness.kube(&["submit", "-f", &file]).error();
    assert!(
        error.contains("1 of the jobs exist and differ")
            && error.contains("line 4: mobile differs in priority"),
        "{error}"
    );
    assert_eq!(harness.jobs().get("mobile").await.unwrap().data["spec"]["priority"], 9);
    assert_eq!(names(&harness).await.len(), 2, "nothing was created");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_created_unless_every_line_is_valid() {
    let harness = Harness::new().await;
    let head = "reference,distorted,model\n";
    let good = "s3://b/r.mp4,s3://b/a.mp4,\n";
    let long = "m".repeat(1025);
    let cases = [
        ("no.mp4,s3://b/b.mp4,\n".to_owned(), "line 3, column reference: \"no.mp4\" is not a URI".to_owned()),
        ("s3://b/r.mp4\n".to_owned(), "line 3: 1 values for 3 columns".to_owned()),
        (",s3://b/b.mp4,\n".to_owned(), "line 3, column reference: the value is missing".to_owned()),
        // Only the API server checks this limit.
        (format!("s3://b/r.mp4,s3://b/b.mp4,{long}\n"), "line 3, column model: Too long".to_owned()),
    ];
    for (bad, expected) in cases {
        let file = harness.write("pairs.csv", &[head, good, &bad].concat());
        let error = harness.kube(&["submit", "-f", &file]).error();
        assert!(error.contains(&file) && error.contains(&expected), "{error}");
        assert_eq!(names(&harness).await, Vec::<String>::new());
    }
    let error = harness.kube(&["submit", "s3://b/r", "s3://b/d", "--labels=a=b c"]).error();
    assert!(error.contains("metadata.labels"), "{error}");
    let error = harness.kube(&["submit", "-f", "nowhere.csv"]).error();
    assert!(error.contains("nowhere.csv cannot be read"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_creates_nothing_and_its_yaml_can_be_applied() {
    let harness = Harness::new().await;
    let file = harness.write("pairs.csv", PAIRS);
    // The dry run of the client needs no cluster.
    let mut bare = harness.program(env!("CARGO_BIN_EXE_vmafx"));
    let yaml = CommandOutput::of(bare.args(["kube", "submit", "-f", &file, "--dry-run", "-o", "yaml"])).ok();
    assert!(yaml.contains("kind: List") && yaml.contains("name: mobile"), "{yaml}");
    let server = harness.kube(&["submit", "-f", &file, "--dry-run=server"]).rows();
    assert_eq!(server[3], ["mobile", "360p.mp4", "created", "(server", "dry", "run)"]);
    assert_eq!(names(&harness).await, Vec::<String>::new());
    harness.write("jobs.yaml", &yaml);
    crate::plugin::kubectl(&harness, &["apply", "-f", "jobs.yaml", "--namespace", harness.ns.name()]).ok();
    assert_eq!(harness.kube(&["submit", "-f", &file]).stderr, "0 created, 2 unchanged\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_pair_can_be_given_as_arguments() {
    let harness = Harness::new().await;
    let pair = ["submit", "s3://b/r.mp4", "s3://b/d.mp4"];
    let made = harness.json(
        &[&pair[..], &["--name=mine", "--execution=pod", "--suspend", "--ttl=1h", "--feature=psnr-hvs"]]
            .concat(),
    );
    assert_eq!((&made["metadata"]["name"], &made["spec"]["execution"]), (&json!("mine"), &json!("Pod")));
    assert_eq!(made["spec"]["ttlSecondsAfterFinished"], 3600);
    assert_eq!(made["spec"]["scoring"]["features"], json!(["psnr-hvs"]));
    let ladder = harness.kube(&["submit", "s3://b/r.mp4", "s3://b/a.mp4", "s3://b/b.mp4", "-o", "name"]).ok();
    assert_eq!(ladder.lines().count(), 2);
    assert!(ladder.starts_with("vmafxjob.vmafx.dev/a-"), "{ladder}");
    for words in [&["submit"][..], &["submit", "s3://b/r.mp4"], &[&pair[..], &["-f", "x.csv"]].concat()] {
        harness.kube(words).error();
    }
}

/// Sets the status of the jobs once all of them exist.
async fn set_statuses(harness: &Harness, status: impl Fn(&str) -> Value, count: usize) {
    let created = async || {
        let names = names(harness).await;
        (names.len() == count).then_some(names)
    };
    for name in wait::until(TIMEOUT, "the jobs", created).await.unwrap() {
        harness.set_job_status(&name, &status(&name)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_prints_the_scores_and_sets_the_exit_code() {
    for (file, statuses, code) in [
        ("good", [scored(95.0, Some(true)), scored(0.0, None)], 0),
        ("low", [scored(95.0, Some(true)), scored(60.0, Some(false))], 1),
        ("bad", [scored(60.0, Some(false)), failed("Failed", "ScoringFailed", "bad clip")], 2),
    ] {
        let harness = Harness::new().await;
        let file = harness.write(file, PAIRS);
        let waiting = RunningCommand::start(&harness, harness.command(&["submit", "-f", &file, "--wait"]));
        set_statuses(&harness, |name| statuses[usize::from(name == "mobile")].clone(), 2).await;
        let ran = waiting.end().await;
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stdout.contains("Succeeded"), "{ran:?}");
        if code == 2 {
            assert!(ran.stderr.contains("mobile has no score: bad clip"), "{ran:?}");
        }
    }
    let harness = Harness::new().await;
    let late = harness.kube(&["submit", "s3://b/r.mp4", "s3://b/d.mp4", "--wait", "--timeout=500ms"]);
    assert_eq!(late.code, Some(124), "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_leaves_the_jobs_and_the_command_can_be_repeated() {
    let harness = Harness::new().await;
    let command = ["submit", "s3://b/r.mp4", "s3://b/a.mp4", "s3://b/b.mp4", "--wait"];
    let waiting = RunningCommand::start(&harness, harness.command(&command));
    waiting.until("waiting for 2 jobs to be done").await;
    waiting.interrupt();
    let ran = waiting.end().await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{ran:?}");
    assert!(ran.stderr.contains("the command can be repeated"), "{ran:?}");
    for name in names(&harness).await {
        harness.set_job_status(&name, &scored(95.0, None)).await;
    }
    let again = harness.kube(&command);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), "0 created, 2 unchanged\n"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_lines_become_jobs_in_order() {
    let harness = Harness::new().await;
    let head = "reference,distorted".to_owned();
    let lines: Vec<String> =
        [head].into_iter().chain((0..300).map(|n| format!("s3://b/r.mp4,s3://b/clip-{n}.mp4"))).collect();
    let file = harness.write("many.csv", &lines.join("\n"));
    let list = harness.json(&["submit", "-f", &file]);
    let made: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|job| job["spec"]["distorted"].clone()).collect();
    assert_eq!(made.len(), 300);
    assert!(made.iter().enumerate().all(|(n, clip)| *clip == format!("s3://b/clip-{n}.mp4")), "{made:?}");
    assert_eq!(harness.kube(&["submit", "-f", &file]).stderr, "0 created, 300 unchanged\n");
    assert_eq!(harness.kube(&["get", "-o", "name"]).ok().lines().count(), 300);
}
