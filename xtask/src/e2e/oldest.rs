//! The integration tests on the oldest release of Kubernetes that we support.

use std::os::unix::fs::symlink;

use anyhow::Result;
use vmafx_e2e::Steps;
use vmafx_testkit::kube::assets::{self, Binary};

use crate::test::cargo;
use crate::tools;

/// Test targets whose results depend on the version of the API server: schema, CEL rules, printer columns, server-side apply,
/// leases, StatefulSets, Jobs and webhooks. A whole run repeats them.
const VERSION_DEPENDENT: [&str; 6] = ["api_server", "lease", "node", "pod_job", "webhook", "workload"];

/// The other test targets that talk to an API server.
const OTHERS: [&str; 14] = [
    "auth_cluster",
    "chart",
    "client",
    "control_plane",
    "controller_tls",
    "docs",
    "faults",
    "job",
    "kube",
    "models",
    "node_status",
    "proxy",
    "tenants",
    "training",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestSelection {
    VersionDependent,
    All,
}

impl TestSelection {
    fn targets(self) -> impl Iterator<Item = &'static str> {
        let others = if self == Self::All { &OTHERS[..] } else { &[] };
        VERSION_DEPENDENT.into_iter().chain(others.iter().copied())
    }
}

/// Runs tests with the API server and the controller manager of the oldest release.
pub(super) fn run(selection: TestSelection, steps: &mut Steps) -> Result<()> {
    let name = format!("integration tests on Kubernetes {}", Binary::OldestKubeApiserver.version());
    steps.blocking(&name, || {
        let programs = [Binary::OldestKubeApiserver, Binary::OldestKubeControllerManager];
        let assets = assets::ensure(&programs)?;
        let directory = tempfile::Builder::new().prefix("vmafx-oldest-").tempdir()?;
        for program in programs {
            symlink(assets.path(program), directory.path().join(program.name()))?;
        }
        let tests = selection.targets().flat_map(|test| ["--test", test]);
        let arguments =
            ["test", "--workspace", "--locked", "--quiet", "--no-fail-fast"].into_iter().chain(tests);
        let programs = directory.path().display().to_string();
        let ffmpeg = tools::ffmpeg().map(|path| path.display().to_string());
        let ffmpeg = ffmpeg.as_deref().map(|path| (tools::FFMPEG_VARIABLE, path));
        let environment: Vec<_> =
            [(assets::ASSETS_VARIABLE, programs.as_str())].into_iter().chain(ffmpeg).collect();
        cargo(&arguments.collect::<Vec<_>>(), &environment)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::workspace;

    /// The types by which a test gets an API server.
    const API_SERVER: [&str; 2] = ["ControlPlane", "TestNamespace"];

    fn entries(directory: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn uses_api_server(path: &Path) -> bool {
        if path.is_dir() {
            return entries(path).iter().any(|entry| uses_api_server(entry));
        }
        let text = fs::read(path).unwrap();
        API_SERVER.iter().any(|name| String::from_utf8_lossy(&text).contains(name))
    }

    /// Test targets are the files below `tests`, and its directories with a `main.rs`.
    fn targets_with_api_server() -> BTreeSet<String> {
        let crates = entries(&workspace::root().join("crates"));
        let tests = crates.iter().flat_map(|one| entries(&one.join("tests")));
        let is_target = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").is_file()
        };
        let targets = tests.filter(is_target).filter(|path| uses_api_server(path));
        targets.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_test_target_that_talks_to_an_api_server_runs_on_the_oldest_one() {
        let listed: BTreeSet<_> = TestSelection::All.targets().map(str::to_owned).collect();
        // The whole node has its own programs, which have no older release here.
        let expected = targets_with_api_server().into_iter().filter(|target| target != "whole_node");
        assert_eq!(listed, expected.collect());
    }

    #[test]
    fn no_target_is_listed_twice() {
        let listed: Vec<_> = TestSelection::All.targets().collect();
        assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len());
    }
}
