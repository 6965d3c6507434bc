//! Runs the code blocks of the documents.

use std::path::Path;

use rstest::rstest;
use vmafx_testkit::kube::assets::{Binary, ensure};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, install_crds};
use vmafx_testkit::markdown::{CodeBlock, MarkdownDocument};
use vmafx_testkit::shell::Shell;

use crate::{OPERATING, document, root, text};

/// Longer than any of these commands takes on a busy machine.
const TIMEOUT_SECONDS: u32 = 120;

/// API groups of other projects, which a bare cluster does not have.
const FOREIGN_GROUPS: &str = r"monitoring\.coreos\.com|cert-manager\.io";

#[derive(Debug, PartialEq, Eq)]
enum Runner {
    /// This test runs the block on an API server.
    Api,
    /// `make e2e` runs the block on a whole node.
    Pods,
    /// The API server has to accept the objects.
    Manifest,
    /// The API server has to accept the objects that Helm renders with these values.
    Values,
    NotACommand,
}

/// The runner of a block; an error if the block has none.
fn runner(block: &CodeBlock) -> Result<Runner, String> {
    let attributes: Vec<_> = block.attributes.iter().map(String::as_str).collect();
    match (block.language.as_str(), attributes.as_slice()) {
        ("sh", ["api"]) => Ok(Runner::Api),
        ("sh", ["pods"]) => Ok(Runner::Pods),
        ("yaml", []) if block.text.contains("apiVersion:") => Ok(Runner::Manifest),
        ("yaml", ["values"]) => Ok(Runner::Values),
        // SQL is not for a shell, and text is the output of programs.
        ("sql" | "text", []) => Ok(Runner::NotACommand),
        _ => Err(format!(
            "line {}: the block has no runner: use `sh api`, `sh pods`, `yaml` or `yaml values`",
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
fn a_block_without_a_runner_is_an_error(
    #[case] info: &str,
    #[case] text: &str,
    #[case] expected: Option<Runner>,
) {
    let block = MarkdownDocument::parse(&format!("```{info}\n{text}\n```\n")).blocks.remove(0);
    assert_eq!(runner(&block).ok(), expected);
}

/// A control plane for one document, so that documents may use the same names.
struct DocumentRunner {
    shell: Shell,
    _plane: ControlPlane,
}

impl DocumentRunner {
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
        // There is no controller manager, which would create the default service accounts.
        for namespace in ["vmafx-system", "video"] {
            let commands = format!(
                "kubectl create namespace {namespace}; kubectl -n {namespace} create serviceaccount default"
            );
            shell.run(&commands, TIMEOUT_SECONDS).unwrap();
        }
        Self { shell, _plane: plane }
    }

    fn run(&self, block: &CodeBlock, runner: &Runner) -> Result<(), String> {
        let script = match runner {
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
                 awk 'BEGIN {{ RS = \"---\\n\" }} !/apiVersion: ({FOREIGN_GROUPS})/ {{ print \"---\"; print }}' \"$HOME/all.yaml\" |\n\
                 kubectl apply --dry-run=server --validate=strict -f -\n",
                block.text
            ),
            Runner::Pods | Runner::NotACommand => return Ok(()),
        };
        let result = self.shell.run(&script, TIMEOUT_SECONDS);
        result.map(drop).map_err(|error| format!("line {}: {error}\n{}", block.line, block.text))
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn the_code_blocks_of_a_document_work(
    #[values(
        "install",
        "tenants",
        "gpu",
        "storage",
        "postgres",
        "upgrades",
        "monitoring",
        "troubleshooting"
    )]
    name: &str,
) {
    let blocks = document(name).blocks;
    assert!(!blocks.is_empty());
    let planned: Result<Vec<_>, _> =
        blocks.iter().map(|block| runner(block).map(|runner| (block, runner))).collect();
    let planned = planned.unwrap_or_else(|problem| panic!("docs/{name}.md: {problem}"));
    let document = DocumentRunner::new().await;
    for (block, runner) in planned {
        document.run(block, &runner).unwrap_or_else(|problem| panic!("docs/{name}.md: {problem}"));
    }
}

/// The lines of all blocks that are run.
fn tested_commands() -> String {
    let blocks = OPERATING.iter().flat_map(|name| document(name).blocks);
    let tested = blocks.filter(|block| matches!(runner(block), Ok(Runner::Api | Runner::Pods)));
    tested.map(|block| joined(&block.text)).collect()
}

/// The lines with continuation lines joined and with single spaces.
pub(crate) fn joined(text: &str) -> String {
    text.replace("\\\n", " ")
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
        .collect()
}

/// Whether a code span is a command with arguments, rather than the name of a command.
fn is_command(code: &str) -> bool {
    let words: Vec<_> = code.split_whitespace().collect();
    let min_words = if words.get(1) == Some(&"vmafx") { 4 } else { 3 };
    matches!(words.first(), Some(&("kubectl" | "helm"))) && words.len() >= min_words
}

#[test]
fn a_command_within_a_sentence_is_tested_in_some_block() {
    let tested = tested_commands();
    for name in OPERATING {
        for (line, code) in document(name).code_spans {
            assert!(
                !is_command(&code) || tested.contains(&code),
                "docs/{name}.md, line {line}: no block runs `{code}`"
            );
        }
    }
}

#[test]
fn the_commands_of_the_readme_for_a_cluster_are_tested_in_some_document() {
    let (tested, readme) = (tested_commands(), MarkdownDocument::parse(&text("README.md")));
    let mut count = 0;
    for block in readme.blocks.iter().filter(|block| block.attributes == ["pods"]) {
        for line in joined(&block.text).lines() {
            assert!(tested.contains(line), "README.md, line {}: no document runs `{line}`", block.line);
            count += 1;
        }
    }
    assert!(count > 3, "the README does not show the installation");
}
