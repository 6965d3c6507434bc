//! Jobs from pairs.

use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use vmafx_testkit::wait;

use crate::stage::{PATIENCE, Ran, Stage, Started, failed, scored};

async fn names(stage: &Stage) -> Vec<String> {
    stage.jobs().list(&ListParams::default()).await.unwrap().iter().map(kube::ResourceExt::name_any).collect()
}

const PAIRS: &str = "reference,distorted,name,priority,min_score\n\
    s3://b/r.mp4,s3://b/720p.mp4,,5,\n\
    # mobile\n\
    s3://b/r.mp4,s3://b/360p.mp4,mobile,,70\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_file_becomes_jobs_once() {
    let stage = Stage::set().await;
    let file = stage.write("pairs.csv", PAIRS);
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
    let ran = stage.kube(&command);
    assert_eq!(ran.stderr, "2 created, 0 unchanged\n");
    assert_eq!(ran.rows()[2][1..], ["720p.mp4", "created"]);
    let all = names(&stage).await;
    assert!(all.len() == 2 && all.contains(&"mobile".to_owned()), "{all:?}");
    assert!(all.iter().any(|name| name.starts_with("n-720p-")), "{all:?}");
    let mobile = stage.jobs().get("mobile").await.unwrap();
    assert_eq!((&mobile.data["spec"]["minScore"], &mobile.data["spec"]["priority"]), (&json!(70), &json!(0)));
    assert_eq!(mobile.labels()["batch"], "x");
    assert_eq!(mobile.managed_fields()[0].manager.as_deref(), Some("kubectl-vmafx"));

    stage.kube(&["cancel", "mobile"]).ok();
    let again = stage.kube(&command);
    assert_eq!(again.stderr, "0 created, 2 unchanged\n");
    assert_eq!(again.rows()[3], ["mobile", "360p.mp4", "unchanged"]);
    assert_eq!(names(&stage).await.len(), 2);

    stage.write("pairs.csv", &format!("{PAIRS}s3://b/r.mp4,s3://b/new.mp4,,,\n"));
    assert_eq!(stage.kube(&command).stderr, "1 created, 2 unchanged\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_the_same_name_that_differs_is_left_alone_and_told() {
    let stage = Stage::set().await;
    let file = stage.write("pairs.csv", PAIRS);
    stage.kube(&["submit", "-f", &file]).ok();
    let priority = Patch::Merge(json!({ "spec": { "priority": 9 } }));
    stage.jobs().patch("mobile", &PatchParams::default(), &priority).await.unwrap();
    stage.write("pairs.csv", &format!("{PAIRS}s3://b/r.mp4,s3://b/new.mp4,,,\n"));
    let said = stage.kube(&["submit", "-f", &file]).refused();
    assert!(
        said.contains("1 of the jobs exist and differ")
            && said.contains("line 4: mobile differs in priority"),
        "{said}"
    );
    assert_eq!(stage.jobs().get("mobile").await.unwrap().data["spec"]["priority"], 9);
    assert_eq!(names(&stage).await.len(), 2, "nothing was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_made_unless_every_line_is_good() {
    let stage = Stage::set().await;
    let head = "reference,distorted,model\n";
    let good = "s3://b/r.mp4,s3://b/a.mp4,\n";
    let long = "m".repeat(1025);
    let cases = [
        ("no.mp4,s3://b/b.mp4,\n".to_owned(), "line 3, column reference: \"no.mp4\" is no URI".to_owned()),
        ("s3://b/r.mp4\n".to_owned(), "line 3: 1 values for 3 columns".to_owned()),
        (",s3://b/b.mp4,\n".to_owned(), "line 3, column reference: there is nothing in it".to_owned()),
        // Only the API server knows this one.
        (format!("s3://b/r.mp4,s3://b/b.mp4,{long}\n"), "line 3, column model: Too long".to_owned()),
    ];
    for (bad, expected) in cases {
        let file = stage.write("pairs.csv", &[head, good, &bad].concat());
        let said = stage.kube(&["submit", "-f", &file]).refused();
        assert!(said.contains(&file) && said.contains(&expected), "{said}");
        assert_eq!(names(&stage).await, Vec::<String>::new());
    }
    let said = stage.kube(&["submit", "s3://b/r", "s3://b/d", "--labels=a=b c"]).refused();
    assert!(said.contains("metadata.labels"), "{said}");
    let said = stage.kube(&["submit", "-f", "nowhere.csv"]).refused();
    assert!(said.contains("nowhere.csv cannot be read"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_makes_nothing_and_its_yaml_can_be_applied() {
    let stage = Stage::set().await;
    let file = stage.write("pairs.csv", PAIRS);
    // Without any cluster.
    let mut bare = stage.bare(env!("CARGO_BIN_EXE_vmafx"));
    let yaml = Ran::of(bare.args(["kube", "submit", "-f", &file, "--dry-run", "-o", "yaml"])).ok();
    assert!(yaml.contains("kind: List") && yaml.contains("name: mobile"), "{yaml}");
    let server = stage.kube(&["submit", "-f", &file, "--dry-run=server"]).rows();
    assert_eq!(server[3], ["mobile", "360p.mp4", "to", "be", "made"]);
    assert_eq!(names(&stage).await, Vec::<String>::new());
    stage.write("jobs.yaml", &yaml);
    crate::plugin::kubectl(&stage, &["apply", "-f", "jobs.yaml", "--namespace", stage.ns.name()]).ok();
    assert_eq!(stage.kube(&["submit", "-f", &file]).stderr, "0 created, 2 unchanged\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_pair_can_be_typed_and_its_answer_read() {
    let stage = Stage::set().await;
    let pair = ["submit", "s3://b/r.mp4", "s3://b/d.mp4"];
    let made =
        stage.json(&[&pair[..], &["--name=mine", "--execution=pod", "--suspend", "--ttl=1h"]].concat());
    assert_eq!((&made["metadata"]["name"], &made["spec"]["execution"]), (&json!("mine"), &json!("Pod")));
    assert_eq!(made["spec"]["ttlSecondsAfterFinished"], 3600);
    let ladder = stage.kube(&["submit", "s3://b/r.mp4", "s3://b/a.mp4", "s3://b/b.mp4", "-o", "name"]).ok();
    assert_eq!(ladder.lines().count(), 2);
    assert!(ladder.starts_with("vmafxjob.vmafx.dev/a-"), "{ladder}");
    for words in [&["submit"][..], &["submit", "s3://b/r.mp4"], &[&pair[..], &["-f", "x.csv"]].concat()] {
        stage.kube(words).refused();
    }
}

/// Plays the operator for jobs as they come.
async fn play(stage: &Stage, status: impl Fn(&str) -> Value, count: usize) {
    let come = async || {
        let names = names(stage).await;
        (names.len() == count).then_some(names)
    };
    for name in wait::until(PATIENCE, "the jobs", come).await.unwrap() {
        stage.says(&name, &status(&name)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_gets_the_scores_and_an_exit_code() {
    for (file, statuses, code) in [
        ("good", [scored(95.0, Some(true)), scored(0.0, None)], 0),
        ("low", [scored(95.0, Some(true)), scored(60.0, Some(false))], 1),
        ("bad", [scored(60.0, Some(false)), failed("Failed", "ScoringFailed", "bad clip")], 2),
    ] {
        let stage = Stage::set().await;
        let file = stage.write(file, PAIRS);
        let waiting = Started::start(&stage, stage.command(&["submit", "-f", &file, "--wait"]));
        play(&stage, |name| statuses[usize::from(name == "mobile")].clone(), 2).await;
        let ran = waiting.end().await;
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stdout.contains("Succeeded"), "{ran:?}");
        if code == 2 {
            assert!(ran.stderr.contains("mobile has no score: bad clip"), "{ran:?}");
        }
    }
    let stage = Stage::set().await;
    let late = stage.kube(&["submit", "s3://b/r.mp4", "s3://b/d.mp4", "--wait", "--timeout=500ms"]);
    assert_eq!(late.code, Some(124), "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_stops_waiting_leaves_the_jobs_and_can_go_on() {
    let stage = Stage::set().await;
    let command = ["submit", "s3://b/r.mp4", "s3://b/a.mp4", "s3://b/b.mp4", "--wait"];
    let waiting = Started::start(&stage, stage.command(&command));
    waiting.until("waiting for 2 jobs to be done").await;
    waiting.interrupt();
    let ran = waiting.end().await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{ran:?}");
    assert!(ran.stderr.contains("the same command again goes on from there"), "{ran:?}");
    for name in names(&stage).await {
        stage.says(&name, &scored(95.0, None)).await;
    }
    let again = stage.kube(&command);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), "0 created, 2 unchanged\n"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_lines_are_jobs_in_their_order() {
    let stage = Stage::set().await;
    let head = "reference,distorted".to_owned();
    let lines: Vec<String> =
        [head].into_iter().chain((0..300).map(|n| format!("s3://b/r.mp4,s3://b/clip-{n}.mp4"))).collect();
    let file = stage.write("many.csv", &lines.join("\n"));
    let list = stage.json(&["submit", "-f", &file]);
    let made: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|job| job["spec"]["distorted"].clone()).collect();
    assert_eq!(made.len(), 300);
    assert!(made.iter().enumerate().all(|(n, clip)| *clip == format!("s3://b/clip-{n}.mp4")), "{made:?}");
    assert_eq!(stage.kube(&["submit", "-f", &file]).stderr, "0 created, 300 unchanged\n");
    assert_eq!(stage.kube(&["get", "-o", "name"]).ok().lines().count(), 300);
}
