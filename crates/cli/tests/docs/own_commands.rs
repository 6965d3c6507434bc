//! The arguments of our own commands in the documents are valid, as far as that can be checked without a cluster,
//! clips or a registry.

use std::path::Path;

use vmafx_testkit::markdown::MarkdownDocument;
use vmafx_testkit::shell::Shell;

use crate::commands::joined;
use crate::{documents, root};

/// Longer than printing the help takes on a busy machine.
const TIMEOUT_SECONDS: u32 = 60;

/// Shell functions that append `--help` to our commands: the program checks the arguments before it prints the help.
const HELP_FUNCTIONS: &str = "vmafx() { command vmafx \"$@\" --help > /dev/null; }\n\
                              kubectl() { shift; kubectl-vmafx \"$@\" --help > /dev/null; }\n";

/// The lines of a document's blocks that run our program.
fn commands(document: &MarkdownDocument) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for block in &document.blocks {
        let text = joined(&block.text);
        let lines = text.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line));
        let ours =
            lines.filter(|line| ["vmafx ", "kubectl vmafx "].iter().any(|start| line.starts_with(start)));
        found.extend(ours.map(|line| (block.line, line.to_owned())));
    }
    found
}

#[test]
fn our_commands_have_valid_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let shell = Shell::new(Path::new("/dev/null"), directory.path()).unwrap();
    for name in ["vmafx", "kubectl-vmafx"] {
        shell.program(name, Path::new(env!("CARGO_BIN_EXE_vmafx"))).unwrap();
    }
    let (mut count, mut problems) = (0, Vec::new());
    for path in documents() {
        for (line, command) in commands(&MarkdownDocument::parse(&std::fs::read_to_string(&path).unwrap())) {
            count += 1;
            if let Err(error) = shell.run(&format!("{HELP_FUNCTIONS}{command}\n"), TIMEOUT_SECONDS) {
                let path = path.strip_prefix(root()).unwrap().display();
                problems.push(format!("{path}:{line}: `{command}`: {error}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count > 20, "{count}");
}

#[test]
fn commands_are_found_in_blocks() {
    let text = "```sh\n$ vmafx score a \\\n  b\nkubectl get pods\nkubectl vmafx get\nvmafx-node\n```\n";
    let found: Vec<_> =
        commands(&MarkdownDocument::parse(text)).into_iter().map(|(_, command)| command).collect();
    assert_eq!(found, ["vmafx score a b", "kubectl vmafx get"]);
}
