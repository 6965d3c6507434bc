//! Finds the crates that are linked into a program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::workspace;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkedCrate {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// The registry; none for crates of this workspace.
    pub(crate) source: Option<String>,
    /// SHA-256 of the archive, from Cargo.lock.
    pub(crate) checksum: Option<String>,
}

/// The output of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub(crate) struct CargoMetadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Debug, Deserialize)]
struct DependencyKind {
    /// `dev` or `build`; none for a normal dependency.
    kind: Option<String>,
}

impl CargoMetadata {
    pub(crate) fn read() -> Result<Self> {
        let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let mut cargo = Command::new("cargo");
        cargo.current_dir(workspace::root());
        cargo.args(["metadata", "--locked", "--format-version=1", "--filter-platform", &platform]);
        let output = cargo.output().context("cannot run cargo")?;
        ensure!(
            output.status.success(),
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        serde_json::from_slice(&output.stdout).context("cannot decode the output of cargo metadata")
    }

    /// The crates that are linked into a program, including its own. Procedural macros run only at build time.
    pub(crate) fn linked(&self, program: &str, checksums: &Checksums) -> Result<BTreeSet<LinkedCrate>> {
        let packages: BTreeMap<_, _> = self.packages.iter().map(|package| (&package.id, package)).collect();
        let nodes: BTreeMap<_, _> = self.resolve.nodes.iter().map(|node| (&node.id, node)).collect();
        let ours = |package: &&Package| package.name == program && package.source.is_none();
        let root =
            self.packages.iter().find(ours).with_context(|| format!("there is no package {program}"))?;
        let (mut open, mut seen) = (vec![&root.id], BTreeSet::new());
        while let Some(id) = open.pop() {
            let is_macro = packages.get(id).is_some_and(|package| package.is_macro());
            if is_macro || !seen.insert(id) {
                continue;
            }
            let linked =
                |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
            let needed = nodes.get(id).into_iter().flat_map(|node| node.deps.iter().filter(linked));
            open.extend(needed.map(|dependency| &dependency.pkg));
        }
        Ok(seen
            .into_iter()
            .filter_map(|id| packages.get(id))
            .map(|package| package.named(checksums))
            .collect())
    }
}

impl Package {
    fn is_macro(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }

    fn named(&self, checksums: &Checksums) -> LinkedCrate {
        LinkedCrate {
            name: self.name.clone(),
            version: self.version.clone(),
            license: self.license.clone(),
            source: self.source.clone(),
            checksum: checksums.0.get(&(self.name.clone(), self.version.clone())).cloned(),
        }
    }
}

/// Checksums by name and version, from Cargo.lock.
#[derive(Debug, Default)]
pub(crate) struct Checksums(BTreeMap<(String, String), String>);

impl Checksums {
    pub(crate) fn read() -> Result<Self> {
        let lock =
            fs::read_to_string(workspace::root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
        Ok(Self::parse(&lock))
    }

    /// Cargo writes one `key = "value"` per line.
    fn parse(lock: &str) -> Self {
        let field = |block: &str, key: &str| {
            let value = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            value.map(|value| value.trim_matches('"').to_owned())
        };
        let entry = |block: &str| {
            Some(((field(block, "name")?, field(block, "version")?), field(block, "checksum")?))
        };
        Self(lock.split("[[package]]").filter_map(entry).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_linked_with_kube_but_not_with_macros_builders_or_tests() {
        let checksums = Checksums::read().unwrap();
        let crates = CargoMetadata::read().unwrap().linked("vmafx-operator", &checksums).unwrap();
        let names: BTreeSet<_> = crates.iter().map(|one| one.name.as_str()).collect();
        for name in ["vmafx-operator", "vmafx-api", "kube", "tokio"] {
            assert!(names.contains(name), "{name} is missing");
        }
        for name in ["serde_derive", "rstest", "vmafx-testkit", "cc"] {
            assert!(!names.contains(name), "{name} is not linked into the program");
        }
        for one in crates {
            assert_eq!(one.checksum.is_some(), one.source.is_some(), "{} {}", one.name, one.version);
        }
    }
}
