//! The kubectl of `make run`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::Value;
use vmafx_testkit::kube::assets::{AssetLocation, Binary, locate};
use vmafx_testkit::kube::process::find_program;

/// A kubectl works with API servers of its own minor version, the one before and the one after.
const SUPPORTED_SKEW: u32 = 1;

/// A kubectl that needs no build: one that was built before, else the one in PATH if it supports our API server.
pub(super) fn existing() -> Result<Option<PathBuf>> {
    if let AssetLocation::Ready(path) = locate(Binary::Kubectl)? {
        return Ok(Some(path));
    }
    let supported = |path: &PathBuf| {
        client_version(path).is_some_and(|version| supports(&version, Binary::KubeApiserver.version()))
    };
    Ok(find_program("kubectl").filter(supported))
}

fn client_version(kubectl: &Path) -> Option<String> {
    let output = Command::new(kubectl).args(["version", "--client", "--output=json"]).output().ok()?;
    let document: Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(document["clientVersion"]["gitVersion"].as_str()?.to_owned())
}

fn supports(client: &str, server: &str) -> bool {
    match (minor(client), minor(server)) {
        (Some(client), Some(server)) => client.abs_diff(server) <= SUPPORTED_SKEW,
        _ => false,
    }
}

/// The minor version of a release of Kubernetes 1.
fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("v1.")?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::the_same("v1.36.0", true)]
    #[case::one_older("v1.35.9", true)]
    #[case::one_newer("v1.37.1-gke.100", true)]
    #[case::two_older("v1.34.2", false)]
    #[case::two_newer("v1.38.0", false)]
    #[case::another_major("v2.36.0", false)]
    #[case::no_version("master", false)]
    fn a_kubectl_supports_api_servers_of_a_neighbouring_minor_version(
        #[case] client: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(supports(client, "v1.36.3"), expected);
    }

    #[test]
    fn the_version_of_a_kubectl_is_read_from_its_output() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("kubectl");
        let script = "#!/bin/sh\n[ \"$*\" = 'version --client --output=json' ] && echo '{\"clientVersion\":{\"gitVersion\":\"v1.36.1\"}}'\n";
        std::fs::write(&program, script).unwrap();
        assert_eq!(client_version(&program), None, "it is not executable");
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(client_version(&program).as_deref(), Some("v1.36.1"));
    }
}
