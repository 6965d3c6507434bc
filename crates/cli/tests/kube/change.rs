//! `cancel`, `suspend` and `resume`.

use serde_json::json;

use crate::stage::{Ran, Stage, failed, scored};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_one_field_by_our_name_and_can_be_repeated() {
    let stage = Stage::set().await;
    stage.job("a", json!({})).await;
    assert_eq!(stage.kube(&["suspend", "a"]).ok(), "vmafxjob.vmafx.dev/a suspended\n");
    let first = stage.jobs().get("a").await.unwrap();
    assert_eq!(first.data["spec"]["suspend"], true);
    assert_eq!(stage.kube(&["suspend", "vmjob/a", "a"]).ok(), "vmafxjob.vmafx.dev/a suspended before\n");
    let second = stage.jobs().get("a").await.unwrap();
    assert_eq!(first.metadata.resource_version, second.metadata.resource_version, "nothing was written");
    let managers: Vec<_> =
        second.metadata.managed_fields.unwrap().into_iter().filter_map(|entry| entry.manager).collect();
    assert!(managers.contains(&"kubectl-vmafx".to_owned()), "{managers:?}");

    assert_eq!(stage.kube(&["resume", "a"]).ok(), "vmafxjob.vmafx.dev/a resumed\n");
    assert_eq!(stage.jobs().get("a").await.unwrap().data["spec"]["suspend"], false);
    assert_eq!(stage.json(&["cancel", "a"])["spec"]["cancel"], true);
    assert_eq!(stage.kube(&["cancel", "a"]).ok(), "vmafxjob.vmafx.dev/a cancelled before\n");
    let said = stage.kube(&["resume", "a"]).refused();
    assert!(said.contains("a was cancelled: submit it again"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_have_ended_are_refused_and_then_nothing_is_changed() {
    let stage = Stage::set().await;
    for name in ["done", "broken", "open"] {
        stage.job(name, json!({})).await;
    }
    stage.says("done", &scored(93.0, None)).await;
    stage.says("broken", &failed("Failed", "ScoringFailed", "bad clip")).await;
    let said = stage.kube(&["cancel", "open", "done", "broken"]).refused();
    assert!(said.contains("done has ended (Succeeded): there is nothing to cancel"), "{said}");
    assert!(said.contains("broken has ended (Failed)"), "{said}");
    assert_eq!(stage.jobs().get("open").await.unwrap().data["spec"]["cancel"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_are_changed_only_after_a_yes_and_only_those_that_can_be() {
    let stage = Stage::set().await;
    for name in ["done", "one", "two"] {
        stage.job(name, json!({})).await;
    }
    stage.says("done", &scored(93.0, None)).await;
    let asked = format!("error: cancel 2 jobs in namespace {}: give --yes", stage.ns.name());
    for which in [&["--all"][..], &["-l", "team=web"]] {
        let said = stage.kube(&[&["cancel"], which].concat()).refused();
        assert!(said.starts_with(&asked), "{said}");
    }
    assert_eq!(stage.jobs().get("one").await.unwrap().data["spec"]["cancel"], false);
    let done = stage.kube(&["cancel", "-l", "team=web", "--yes", "-o", "name"]).ok();
    assert_eq!(done, "vmafxjob.vmafx.dev/one\nvmafxjob.vmafx.dev/two\n");
    let none = stage.kube(&["cancel", "--all"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert!(none.stderr.contains("there is no job to cancel"), "{none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_meant_must_be_said() {
    let stage = Stage::set().await;
    for words in [&["cancel"][..], &["cancel", "a", "--all"], &["cancel", "a", "-l", "x=y"]] {
        stage.kube(words).refused();
    }
    let said = stage.kube(&["cancel", "nobody", "nothing"]).refused();
    assert!(said.contains("\"nobody\"") && said.contains("\"nothing\""), "{said}");
    let said = stage.kube(&["cancel", "-l", "a in (", "--yes"]).refused();
    assert!(said.contains("cannot list jobs"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_can_be_piped_from_one_command_to_the_next() {
    let stage = Stage::set().await;
    stage.job("a", json!({})).await;
    stage.job("b", json!({})).await;
    let names = stage.kube(&["get", "-o", "name"]).ok();
    let names: Vec<&str> = names.lines().collect();
    let ran: Ran = stage.kube(&[&["suspend"], &names[..]].concat());
    assert_eq!(ran.ok().lines().count(), 2);
}
