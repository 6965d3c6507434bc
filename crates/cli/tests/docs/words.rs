//! Our own commands in every document, as far as they can be understood without a cluster, clips or a registry: the program
//! knows each word of them.

use std::path::Path;

use vmafx_testkit::markdown::MarkdownDocument;
use vmafx_testkit::shell::Shell;

use crate::commands::joined;
use crate::{documents, root};

/// Longer than it takes to print help, on a machine that is busy.
const SECONDS: u32 = 60;

/// Makes both names of the program say what they would do instead of doing it, if they know every word before that.
const NAMES: &str = "vmafx() { command vmafx \"$@\" --help > /dev/null; }\n\
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
fn every_word_of_a_command_is_known() {
    let elsewhere = tempfile::tempdir().unwrap();
    let shell = Shell::new(Path::new("/dev/null"), elsewhere.path()).unwrap();
    for name in ["vmafx", "kubectl-vmafx"] {
        shell.program(name, Path::new(env!("CARGO_BIN_EXE_vmafx"))).unwrap();
    }
    let (mut seen, mut problems) = (0, Vec::new());
    for path in documents() {
        for (line, command) in commands(&MarkdownDocument::parse(&std::fs::read_to_string(&path).unwrap())) {
            seen += 1;
            if let Err(error) = shell.run(&format!("{NAMES}{command}\n"), SECONDS) {
                let path = path.strip_prefix(root()).unwrap().display();
                problems.push(format!("{path}:{line}: `{command}`: {error}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(seen > 20, "{seen}");
}

#[test]
fn commands_are_found_in_blocks() {
    let text = "```sh\n$ vmafx score a \\\n  b\nkubectl get pods\nkubectl vmafx get\nvmafx-node\n```\n";
    let found: Vec<_> =
        commands(&MarkdownDocument::parse(text)).into_iter().map(|(_, command)| command).collect();
    assert_eq!(found, ["vmafx score a b", "kubectl vmafx get"]);
}
