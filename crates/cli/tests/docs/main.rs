//! The documents are tested: their commands run, an API server accepts their manifests, their links are valid, the
//! environment variables in them are read by a program, and our own commands have valid arguments.
//!
//! The info string of a code block says how it is tested. `sh api` blocks run here, on an API server without Pods, in
//! the order of the document; `sh pods` blocks run in `make e2e`, on a whole node. A `yaml` block is a manifest, which
//! the API server has to accept; a `yaml values` block has values of the chart, and the API server has to accept the
//! objects that Helm renders from them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod commands;
mod links;
mod own_commands;
mod reasons;
mod settings;

use std::path::{Path, PathBuf};

use vmafx_testkit::markdown::MarkdownDocument;

/// The documents for people who install and operate VMAFX.
pub(crate) const OPERATING: [&str; 8] =
    ["install", "tenants", "gpu", "storage", "postgres", "upgrades", "monitoring", "troubleshooting"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn documents() -> Vec<PathBuf> {
    let mut documents = Vec::new();
    for directory in ["", "docs", "docs/adr", "deploy/helm/vmafx"] {
        let files = root().join(directory).read_dir().unwrap().map(|file| file.unwrap().path());
        documents.extend(files.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    assert!(documents.len() > 30, "{documents:?}");
    documents
}

pub(crate) fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(crate) fn document(name: &str) -> MarkdownDocument {
    MarkdownDocument::parse(&text(&format!("docs/{name}.md")))
}
