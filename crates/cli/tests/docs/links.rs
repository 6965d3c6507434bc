//! Links within the repository.

use std::path::Path;

use vmafx_testkit::markdown::MarkdownDocument;

use crate::{documents, root};

fn problem(from: &Path, target: &str) -> Option<String> {
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
    let document = MarkdownDocument::parse(&std::fs::read_to_string(&to).ok()?);
    (!document.anchors.iter().any(|one| one == anchor)).then(|| format!("{path} has no heading #{anchor}"))
}

#[test]
fn every_link_has_an_existing_file_and_heading() {
    let mut problems = Vec::new();
    for path in documents() {
        for link in MarkdownDocument::parse(&std::fs::read_to_string(&path).unwrap()).links {
            if let Some(problem) = problem(&path, &link.target) {
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
fn a_broken_link_is_detected() {
    let readme = root().join("README.md");
    assert!(problem(&readme, "docs/nowhere.md").is_some());
    assert!(problem(&readme, "docs/api.md#nowhere").is_some());
    assert_eq!(problem(&readme, "docs/api.md#vmafxjob"), None);
    assert_eq!(problem(&readme, "https://example.com/nowhere"), None);
}
