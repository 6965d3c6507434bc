//! `kubectl vmafx`, through the real `kubectl`.

use std::env;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;
use vmafx_testkit::command::CommandOutput;
use vmafx_testkit::kube::assets::{Binary, ensure};

use crate::harness::{Harness, scored};

/// `kubectl` with the plugin in its PATH.
fn command(harness: &Harness) -> Command {
    let kubectl = ensure(&[Binary::Kubectl]).unwrap().path(Binary::Kubectl).to_owned();
    let bin = harness.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for name in ["kubectl-vmafx", "kubectl_complete-vmafx"] {
        let link = bin.join(name);
        if !link.exists() {
            symlink(env!("CARGO_BIN_EXE_vmafx"), link).unwrap();
        }
    }
    let mut command = harness.program(kubectl);
    let path =
        env::join_paths([bin].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap()))).unwrap();
    command.env("PATH", path).env("KUBECONFIG", harness.kubeconfig());
    command
}

pub(crate) fn kubectl(harness: &Harness, words: &[&str]) -> CommandOutput {
    CommandOutput::of(command(harness).args(words))
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_runs_the_verbs_of_the_plugin() {
    let harness = Harness::new().await;
    harness.create_job("a", json!({})).await;
    harness.set_job_status("a", &scored(93.0, None)).await;
    let ns = harness.ns.name();
    let rows = kubectl(&harness, &["vmafx", "get", "-n", ns]).rows();
    assert_eq!(rows[2][..3], ["a", "Succeeded", "93.000"]);
    assert_eq!(kubectl(&harness, &["vmafx", "wait", "a", "-n", ns]).code, Some(0));
    assert_eq!(kubectl(&harness, &["vmafx", "wait", "a", "--for=failed", "-n", ns]).code, Some(1));
    let error = kubectl(&harness, &["vmafx", "cancel", "a", "-n", ns]).error();
    assert!(error.contains("a has ended (Succeeded)"), "{error}");
    let made =
        kubectl(&harness, &["vmafx", "submit", "s3://b/r.mp4", "s3://b/d.mp4", "-n", ns, "-o", "name"]).ok();
    assert!(made.starts_with("vmafxjob.vmafx.dev/d-"), "{made}");
    let text = kubectl(&harness, &["get", made.trim(), "-n", ns]).ok();
    assert!(text.contains("PHASE"), "kubectl accepts the name: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn help_has_examples_with_the_command_as_it_is_typed() {
    let harness = Harness::new().await;
    let help = kubectl(&harness, &["vmafx", "--help"]).ok();
    assert!(
        help.contains("Usage: kubectl vmafx") && help.contains("kubectl vmafx submit -f pairs.csv"),
        "{help}"
    );
    for verb in ["get", "explain", "logs", "submit", "wait", "cancel", "suspend", "resume", "dashboard"] {
        assert!(help.contains(&format!("  {verb}")), "{verb}: {help}");
        let more = kubectl(&harness, &["vmafx", verb, "--help"]).ok();
        assert!(more.contains("Examples:") && more.contains(&format!("kubectl vmafx {verb}")), "{more}");
        let same =
            CommandOutput::of(harness.program(env!("CARGO_BIN_EXE_vmafx")).args(["kube", verb, "--help"]))
                .ok();
        assert!(same.contains("Examples:"), "{same}");
    }
    let wrong = kubectl(&harness, &["vmafx", "cancle"]).error();
    assert!(wrong.contains("'cancel'"), "{wrong}");
    let plain = CommandOutput::of(harness.program(env!("CARGO_BIN_EXE_vmafx")).arg("--help")).ok();
    assert!(plain.contains("kube") && plain.contains("score"), "{plain}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_completes_verbs_flags_and_names() {
    let harness = Harness::new().await;
    harness.create_job("trailer", json!({})).await;
    harness.create_job("intro", json!({})).await;
    let complete = |words: &[&str]| {
        let ran = kubectl(&harness, &[&["__complete", "vmafx"], words].concat()).ok();
        ran.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["ca"]), ["cancel", ":4"]);
    assert_eq!(complete(&["get", "--wa"]), ["--watch", ":4"]);
    assert_eq!(complete(&["dash"]), ["dashboard", ":4"]);
    assert_eq!(complete(&["dashboard", "--service"]), ["--service-account", ":4"]);
    assert_eq!(complete(&["dashboard", ""]), [":4"]);
    assert_eq!(complete(&["get", "-o", "y"]), ["yaml", ":4"]);
    let ns = harness.ns.name();
    assert_eq!(complete(&["cancel", "-n", ns, "tr"]), ["trailer", ":4"]);
    assert_eq!(complete(&["submit", "-f", ""]), [":0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn shells_complete_both_names_of_the_program() {
    let harness = Harness::new().await;
    let plugin = kubectl(&harness, &["vmafx", "completion", "bash"]).ok();
    assert!(plugin.contains("kubectl-vmafx") && plugin.contains("suspend"), "no completions");
    let own =
        CommandOutput::of(harness.program(env!("CARGO_BIN_EXE_vmafx")).args(["completion", "bash"])).ok();
    assert!(own.contains("vmafx__subcmd__kube") || own.contains("vmafx__kube"), "no completions of kube");
}
