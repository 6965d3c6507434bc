//! `cancel`, `suspend` and `resume`.

use serde_json::json;
use vmafx_testkit::command::CommandOutput;

use crate::harness::{Harness, failed, scored};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_sets_one_field_as_our_field_manager_and_can_be_repeated() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({})).await;
    assert_eq!(harness.kube(&["suspend", "a"]).ok(), "vmafxjob.vmafx.dev/a suspended\n");
    let first = harness.jobs().get("a").await.unwrap();
    assert_eq!(first.data["spec"]["suspend"], true);
    assert_eq!(harness.kube(&["suspend", "vmjob/a", "a"]).ok(), "vmafxjob.vmafx.dev/a already suspended\n");
    let second = harness.jobs().get("a").await.unwrap();
    assert_eq!(first.metadata.resource_version, second.metadata.resource_version, "nothing was written");
    let managers: Vec<_> =
        second.metadata.managed_fields.unwrap().into_iter().filter_map(|entry| entry.manager).collect();
    assert!(managers.contains(&"kubectl-vmafx".to_owned()), "{managers:?}");

    assert_eq!(harness.kube(&["resume", "a"]).ok(), "vmafxjob.vmafx.dev/a resumed\n");
    assert_eq!(harness.jobs().get("a").await.unwrap().data["spec"]["suspend"], false);
    assert_eq!(harness.json(&["cancel", "a"])["spec"]["cancel"], true);
    assert_eq!(harness.kube(&["cancel", "a"]).ok(), "vmafxjob.vmafx.dev/a already cancelled\n");
    let error = harness.kube(&["resume", "a"]).error();
    assert!(error.contains("a was cancelled: submit it again"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_have_ended_are_refused_and_then_nothing_is_changed() {
    let harness = Harness::new().await;
    for name in ["done", "broken", "open"] {
        harness.create_job(name, json!({})).await;
    }
    harness.set_job_status("done", &scored(93.0, None)).await;
    harness.set_job_status("broken", &failed("Failed", "ScoringFailed", "bad clip")).await;
    let error = harness.kube(&["cancel", "open", "done", "broken"]).error();
    assert!(error.contains("done has ended (Succeeded): there is nothing to cancel"), "{error}");
    assert!(error.contains("broken has ended (Failed)"), "{error}");
    assert_eq!(harness.jobs().get("open").await.unwrap().data["spec"]["cancel"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selector_needs_confirmation_and_means_only_the_jobs_that_can_be_changed() {
    let harness = Harness::new().await;
    for name in ["done", "one", "two"] {
        harness.create_job(name, json!({})).await;
    }
    harness.set_job_status("done", &scored(93.0, None)).await;
    let expected = format!("error: cancel 2 jobs in namespace {}: give --yes", harness.ns.name());
    for which in [&["--all"][..], &["-l", "team=web"]] {
        let error = harness.kube(&[&["cancel"], which].concat()).error();
        assert!(error.starts_with(&expected), "{error}");
    }
    assert_eq!(harness.jobs().get("one").await.unwrap().data["spec"]["cancel"], false);
    let done = harness.kube(&["cancel", "-l", "team=web", "--yes", "-o", "name"]).ok();
    assert_eq!(done, "vmafxjob.vmafx.dev/one\nvmafxjob.vmafx.dev/two\n");
    let none = harness.kube(&["cancel", "--all"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert!(none.stderr.contains("there is no job to cancel"), "{none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_given_by_name_or_by_selector() {
    let harness = Harness::new().await;
    for words in [&["cancel"][..], &["cancel", "a", "--all"], &["cancel", "a", "-l", "x=y"]] {
        harness.kube(words).error();
    }
    let error = harness.kube(&["cancel", "nobody", "nothing"]).error();
    assert!(error.contains("\"nobody\"") && error.contains("\"nothing\""), "{error}");
    let error = harness.kube(&["cancel", "-l", "a in (", "--yes"]).error();
    assert!(error.contains("cannot list jobs"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_can_be_piped_from_one_command_to_the_next() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({})).await;
    harness.create_job("b", json!({})).await;
    let names = harness.kube(&["get", "-o", "name"]).ok();
    let names: Vec<&str> = names.lines().collect();
    let ran: CommandOutput = harness.kube(&[&["suspend"], &names[..]].concat());
    assert_eq!(ran.ok().lines().count(), 2);
}
