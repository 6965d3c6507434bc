//! Links within the repository.

use std::path::Path;

use vmafx_testkit::markdown::MarkdownDocument;

use crate::{documents, root};

/// What is wrong with a link, if anything.
fn trouble(from: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let to = if path.is_empty() { from.to_owned() } else { from.parent()?.join(path) };
    if !to.exists() {
        return Some(format!("there is no {path}"));
    }
    if anchor.is_empty() {
        return None;
    }
    let there = MarkdownDocument::parse(&std::fs::read_to_string(&to).ok()?);
    (!there.anchors.iter().any(|one| one == anchor)).then(|| format!("{path} has no heading #{anchor}"))
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let mut problems = Vec::new();
    for path in documents() {
        for link in MarkdownDocument::parse(&std::fs::read_to_string(&path).unwrap()).links {
            if let Some(problem) = trouble(&path, &link.target) {
                problems.push(format!(
                    "{}:{}: {problem}",
                    path.strip_prefix(root()).unwrap().display(),
                    link.line
                ));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let readme = root().join("README.md");
    assert!(trouble(&readme, "docs/nowhere.md").is_some());
    assert!(trouble(&readme, "docs/api.md#nowhere").is_some());
    assert_eq!(trouble(&readme, "docs/api.md#vmafxjob"), None);
    assert_eq!(trouble(&readme, "https://example.com/nowhere"), None);
}
