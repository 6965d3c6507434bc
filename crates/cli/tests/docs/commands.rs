//! What documents tell their readers to do, done.

use std::path::Path;

use rstest::rstest;
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, install_crds};
use vmafx_testkit::markdown::{CodeBlock, MarkdownDocument};
use vmafx_testkit::shell::Shell;

use crate::{OPERATING, document, root, text};

/// Longer than any of these commands takes, on a machine that is busy.
const SECONDS: u32 = 120;

/// Kinds of others, which a bare cluster does not have.
const OF_OTHERS: &str = r"monitoring\.coreos\.com|cert-manager\.io";

/// Who runs a block.
#[derive(Debug, PartialEq, Eq)]
enum Runner {
    /// This test, on an API server.
    Api,
    /// `make e2e`, on a whole node.
    Pods,
    /// This test: the API server has to accept the objects.
    Manifest,
    /// This test: Helm has to make acceptable objects of it.
    Values,
    /// Nobody, and nobody has to.
    NotACommand,
}

/// Who runs it; what is wrong with it if nobody would.
fn runner(block: &CodeBlock) -> Result<Runner, String> {
    let marks: Vec<_> = block.attributes.iter().map(String::as_str).collect();
    match (block.language.as_str(), marks.as_slice()) {
        ("sh", ["api"]) => Ok(Runner::Api),
        ("sh", ["pods"]) => Ok(Runner::Pods),
        ("yaml", []) if block.text.contains("apiVersion:") => Ok(Runner::Manifest),
        ("yaml", ["values"]) => Ok(Runner::Values),
        // Another program's language, and what programs print.
        ("sql" | "text", []) => Ok(Runner::NotACommand),
        _ => Err(format!(
            "line {}: nobody runs it: write `sh api`, `sh pods`, `yaml` or `yaml values`",
            block.line
        )),
    }
}

#[rstest]
#[case("sh api", "", Some(Runner::Api))]
#[case("sh pods", "", Some(Runner::Pods))]
#[case("yaml", "apiVersion: v1", Some(Runner::Manifest))]
#[case("yaml values", "", Some(Runner::Values))]
#[case("sql", "", Some(Runner::NotACommand))]
#[case("sh", "", None)]
#[case("", "kubectl get pods", None)]
#[case("console", "$ kubectl get pods", None)]
#[case("sh sometimes", "", None)]
#[case("yaml", "operator: {}", None)]
fn a_block_that_nobody_runs_is_found(
    #[case] info: &str,
    #[case] text: &str,
    #[case] expected: Option<Runner>,
) {
    let block = MarkdownDocument::parse(&format!("```{info}\n{text}\n```\n")).blocks.remove(0);
    assert_eq!(runner(&block).ok(), expected);
}

/// A cluster of this document alone, so that documents may use the same names.
struct Reader {
    shell: Shell,
    _plane: ControlPlane,
}

impl Reader {
    async fn new() -> Self {
        let plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
        install_crds(&plane.client().unwrap(), &vmafx_api::crd::all()).await.unwrap();
        let shell = Shell::new(plane.kubeconfig_path(), &root()).unwrap();
        let programs = ensure(&[Binary::Kubectl, Binary::Helm]).unwrap();
        shell.program("kubectl", programs.path(Binary::Kubectl)).unwrap();
        shell.program("helm", programs.path(Binary::Helm)).unwrap();
        for name in ["vmafx", "kubectl-vmafx"] {
            shell.program(name, Path::new(env!("CARGO_BIN_EXE_vmafx"))).unwrap();
        }
        // What is there without a controller manager only if somebody makes it.
        for namespace in ["vmafx-system", "video"] {
            let made = format!(
                "kubectl create namespace {namespace}; kubectl -n {namespace} create serviceaccount default"
            );
            shell.run(&made, SECONDS).unwrap();
        }
        Self { shell, _plane: plane }
    }

    fn run(&self, block: &CodeBlock, runner: &Runner) -> Result<(), String> {
        let lines = match runner {
            Runner::Api => block.text.clone(),
            Runner::Manifest => {
                format!(
                    "kubectl apply --dry-run=server --validate=strict -f - <<'BLOCK'\n{}BLOCK\n",
                    block.text
                )
            }
            Runner::Values => format!(
                "helm template vmafx deploy/helm/vmafx --namespace vmafx-system --values /dev/stdin <<'BLOCK' > \"$HOME/all.yaml\"\n\
                 {}BLOCK\n\
                 test -s \"$HOME/all.yaml\"\n\
                 awk 'BEGIN {{ RS = \"---\\n\" }} !/apiVersion: ({OF_OTHERS})/ {{ print \"---\"; print }}' \"$HOME/all.yaml\" |\n\
                 kubectl apply --dry-run=server --validate=strict -f -\n",
                block.text
            ),
            Runner::Pods | Runner::NotACommand => return Ok(()),
        };
        let outcome = self.shell.run(&lines, SECONDS);
        outcome.map(drop).map_err(|error| format!("line {}: {error}\n{}", block.line, block.text))
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn what_a_document_says_works(
    #[values("install", "gpu", "storage", "postgres", "upgrades", "monitoring", "troubleshooting")]
    name: &str,
) {
    let blocks = document(name).blocks;
    assert!(!blocks.is_empty());
    let planned: Result<Vec<_>, _> =
        blocks.iter().map(|block| runner(block).map(|runner| (block, runner))).collect();
    let planned = planned.unwrap_or_else(|problem| panic!("docs/{name}.md: {problem}"));
    let reader = Reader::new().await;
    for (block, runner) in planned {
        reader.run(block, &runner).unwrap_or_else(|problem| panic!("docs/{name}.md: {problem}"));
    }
}

/// The lines of all blocks that somebody runs, with those that go on made one.
fn run_somewhere() -> String {
    let blocks = OPERATING.iter().flat_map(|name| document(name).blocks);
    let run = blocks.filter(|block| matches!(runner(block), Ok(Runner::Api | Runner::Pods)));
    run.map(|block| joined(&block.text)).collect()
}

/// The same lines, with those that go on made one, and with single spaces.
pub(crate) fn joined(text: &str) -> String {
    text.replace("\\\n", " ")
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
        .collect()
}

/// Whether a piece of code is a command with something to do, rather than the name of one.
fn is_command(code: &str) -> bool {
    let words: Vec<_> = code.split_whitespace().collect();
    let wanted = if words.get(1) == Some(&"vmafx") { 4 } else { 3 };
    matches!(words.first(), Some(&("kubectl" | "helm"))) && words.len() >= wanted
}

#[test]
fn a_command_within_a_sentence_is_one_that_is_run_somewhere() {
    let run = run_somewhere();
    for name in OPERATING {
        for (line, code) in document(name).code_spans {
            assert!(
                !is_command(&code) || run.contains(&code),
                "docs/{name}.md, line {line}: nobody runs `{code}`"
            );
        }
    }
}

#[test]
fn what_the_readme_says_of_a_cluster_is_what_the_documents_say() {
    let (run, readme) = (run_somewhere(), MarkdownDocument::parse(&text("README.md")));
    let mut seen = 0;
    for block in readme.blocks.iter().filter(|block| block.attributes == ["pods"]) {
        for line in joined(&block.text).lines() {
            assert!(run.contains(line), "README.md, line {}: nobody runs `{line}`", block.line);
            seen += 1;
        }
    }
    assert!(seen > 3, "the README does not say how to install it");
}
