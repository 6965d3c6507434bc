//! The documents: every command in them is run, every manifest shown to a real API server, every link leads somewhere,
//! every setting is one that a program reads, and every word of our own commands one that our program knows.
//!
//! A block of shell says behind its language who runs its commands: `sh api` is run here, on an API server without Pods,
//! in the order of the document; `sh pods` by `make e2e`, on a whole node. `yaml` is a manifest, which the API server has
//! to accept; `yaml values` are values of the chart, of which Helm has to make objects that it accepts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod commands;
mod links;
mod reasons;
mod settings;
mod words;

use std::path::{Path, PathBuf};

use vmafx_testkit::markdown::MarkdownDocument;

/// Documents of people who install and run it.
pub(crate) const OPERATING: [&str; 7] =
    ["install", "gpu", "storage", "postgres", "upgrades", "monitoring", "troubleshooting"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every document of the repository.
pub(crate) fn documents() -> Vec<PathBuf> {
    let mut found: Vec<_> = Vec::new();
    for directory in ["", "docs", "docs/adr", "deploy/helm/vmafx"] {
        let files = root().join(directory).read_dir().unwrap().map(|file| file.unwrap().path());
        found.extend(files.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    assert!(found.len() > 30, "{found:?}");
    found
}

pub(crate) fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(crate) fn document(name: &str) -> MarkdownDocument {
    MarkdownDocument::parse(&text(&format!("docs/{name}.md")))
}
