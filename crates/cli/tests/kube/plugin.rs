//! `kubectl vmafx`, through the real `kubectl`.

use std::env;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;
use vmafx_testkit::kube::assets::{Binary, ensure};

use crate::stage::{Ran, Stage, scored};

/// `kubectl` with the plugin in its PATH.
fn command(stage: &Stage) -> Command {
    let kubectl = ensure(&[Binary::Kubectl]).unwrap().path(Binary::Kubectl).to_owned();
    let bin = stage.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for name in ["kubectl-vmafx", "kubectl_complete-vmafx"] {
        let link = bin.join(name);
        if !link.exists() {
            symlink(env!("CARGO_BIN_EXE_vmafx"), link).unwrap();
        }
    }
    let mut command = stage.bare(kubectl);
    let path =
        env::join_paths([bin].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap()))).unwrap();
    command.env("PATH", path).env("KUBECONFIG", stage.kubeconfig());
    command
}

pub(crate) fn kubectl(stage: &Stage, words: &[&str]) -> Ran {
    Ran::of(command(stage).args(words))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_verbs_are_those_of_the_plugin() {
    let stage = Stage::set().await;
    stage.job("a", json!({})).await;
    stage.says("a", &scored(93.0, None)).await;
    let ns = stage.ns.name();
    let rows = kubectl(&stage, &["vmafx", "get", "-n", ns]).rows();
    assert_eq!(rows[2][..3], ["a", "Succeeded", "93.000"]);
    assert_eq!(kubectl(&stage, &["vmafx", "wait", "a", "-n", ns]).code, Some(0));
    assert_eq!(kubectl(&stage, &["vmafx", "wait", "a", "--for=failed", "-n", ns]).code, Some(1));
    let said = kubectl(&stage, &["vmafx", "cancel", "a", "-n", ns]).refused();
    assert!(said.contains("a has ended (Succeeded)"), "{said}");
    let made =
        kubectl(&stage, &["vmafx", "submit", "s3://b/r.mp4", "s3://b/d.mp4", "-n", ns, "-o", "name"]).ok();
    assert!(made.starts_with("vmafxjob.vmafx.dev/d-"), "{made}");
    let seen = kubectl(&stage, &["get", made.trim(), "-n", ns]).ok();
    assert!(seen.contains("PHASE"), "kubectl takes the name: {seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn help_teaches_with_the_command_as_it_is_typed() {
    let stage = Stage::set().await;
    let help = kubectl(&stage, &["vmafx", "--help"]).ok();
    assert!(
        help.contains("Usage: kubectl vmafx") && help.contains("kubectl vmafx submit -f pairs.csv"),
        "{help}"
    );
    for verb in ["get", "explain", "logs", "submit", "wait", "cancel", "suspend", "resume"] {
        assert!(help.contains(&format!("  {verb}")), "{verb}: {help}");
        let more = kubectl(&stage, &["vmafx", verb, "--help"]).ok();
        assert!(more.contains("Examples:") && more.contains(&format!("kubectl vmafx {verb}")), "{more}");
        let same = Ran::of(stage.bare(env!("CARGO_BIN_EXE_vmafx")).args(["kube", verb, "--help"])).ok();
        assert!(same.contains("Examples:"), "{same}");
    }
    let wrong = kubectl(&stage, &["vmafx", "cancle"]).refused();
    assert!(wrong.contains("'cancel'"), "{wrong}");
    let plain = Ran::of(stage.bare(env!("CARGO_BIN_EXE_vmafx")).arg("--help")).ok();
    assert!(plain.contains("kube") && plain.contains("score"), "{plain}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_completes_verbs_flags_and_names() {
    let stage = Stage::set().await;
    stage.job("trailer", json!({})).await;
    stage.job("intro", json!({})).await;
    let complete = |words: &[&str]| {
        let ran = kubectl(&stage, &[&["__complete", "vmafx"], words].concat()).ok();
        ran.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["ca"]), ["cancel", ":4"]);
    assert_eq!(complete(&["get", "--wa"]), ["--watch", ":4"]);
    assert_eq!(complete(&["get", "-o", "y"]), ["yaml", ":4"]);
    let ns = stage.ns.name();
    assert_eq!(complete(&["cancel", "-n", ns, "tr"]), ["trailer", ":4"]);
    assert_eq!(complete(&["submit", "-f", ""]), [":0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn shells_complete_both_names_of_the_program() {
    let stage = Stage::set().await;
    let plugin = kubectl(&stage, &["vmafx", "completion", "bash"]).ok();
    assert!(plugin.contains("kubectl-vmafx") && plugin.contains("suspend"), "no completions");
    let own = Ran::of(stage.bare(env!("CARGO_BIN_EXE_vmafx")).args(["completion", "bash"])).ok();
    assert!(own.contains("vmafx__subcmd__kube") || own.contains("vmafx__kube"), "no completions of kube");
}
