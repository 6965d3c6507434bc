//! An earlier release, built from the history: the last one without TLS between the components and without accounts for
//! workers.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use vmafx_e2e::{Images, OlderRelease};

use crate::workspace;

const COMMIT: &str = "e5379822e75d885df7420cde22a45dea1190caea";
const TAG: &str = "older";
const REPOSITORY: &str = "localhost";

/// Builds its images with unoptimised programs, in a target directory of its own. Later runs find them built.
pub(super) fn build() -> Result<OlderRelease> {
    let directory = workspace::target().join("older").join(COMMIT);
    let (source, images) = (directory.join("source"), directory.join("images"));
    if !source.is_dir() {
        extract(&directory, &source)?;
    }
    let output = images.to_str().context("the target directory has no name in UTF-8")?;
    let arguments = ["images", "--profile=dev", "--tag", TAG, "--repository", REPOSITORY, "--output", output];
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--locked", "--bin", "xtask", "--"])
        .args(arguments)
        .current_dir(&source)
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "cannot build the images of {COMMIT}");
    let chart = source.join("deploy/helm/vmafx");
    let programs = directory.join("target/debug");
    let (repository, tag) = (REPOSITORY.to_owned(), TAG.to_owned());
    Ok(OlderRelease { chart, images: Images { directory: images, repository, tag, programs } })
}

/// Writes the files of the commit to `source`, at once or not at all.
fn extract(directory: &Path, source: &Path) -> Result<()> {
    let partial = directory.join("source.part");
    if partial.exists() {
        fs::remove_dir_all(&partial).context("cannot remove an earlier attempt")?;
    }
    fs::create_dir_all(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    let mut archive = Command::new("git")
        .args(["archive", "--format=tar", COMMIT])
        .current_dir(workspace::root())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run git")?;
    let files = archive.stdout.take().context("git has no output")?;
    let unpacked = Command::new("tar")
        .arg("-x")
        .current_dir(&partial)
        .stdin(files)
        .status()
        .context("cannot run tar")?;
    ensure!(
        archive.wait().context("cannot run git")?.success() && unpacked.success(),
        "the commit {COMMIT} is not in this clone: fetch its whole history"
    );
    fs::rename(&partial, source).with_context(|| format!("cannot create {}", source.display()))
}
