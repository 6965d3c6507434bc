//! The files of each layer, and the packages that they come from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use vmafx_image::{LayerTree, LibraryClosure, LibraryResolver};

use super::debian::{self, DebianPackage};

/// Libraries of every Rust program. The C library also opens `libgcc_s` by name when a thread is cancelled.
const COMMON: [&str; 3] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1"];

/// The image's user is given by number, by which Kubernetes checks that it is not root.
const PASSWD: &str = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nnonroot:x:65532:\n";

/// Without it the C library would query DNS before it reads the Pod's `/etc/hosts`.
const NSSWITCH: &str = "passwd: files\ngroup: files\nhosts: files dns\n";

/// Vulnerability scanners read the Debian release from this file.
const RELEASE: &str = "/usr/lib/os-release";

#[derive(Debug, Default)]
pub(crate) struct LayerContents {
    pub(crate) tree: LayerTree,
    pub(crate) packages: BTreeSet<DebianPackage>,
}

/// The layer that all images share. It depends only on this machine's packages, not on the program.
pub(crate) fn base() -> Result<LayerContents> {
    let closure = LibraryResolver::default().libraries(&COMMON)?;
    let authorities = authorities()?;
    let bundle: Vec<u8> = authorities
        .iter()
        .map(fs::read)
        .collect::<Result<Vec<_>, _>>()
        .context("cannot read the certificate authorities")?
        .concat();
    let tree = LayerTree::new()
        .libraries(&closure)
        .bytes("/etc/passwd", PASSWD, 0o644)
        .bytes("/etc/group", GROUP, 0o644)
        .bytes("/etc/nsswitch.conf", NSSWITCH, 0o644)
        .bytes("/etc/ssl/certs/ca-certificates.crt", bundle, 0o644)
        .file("/etc/os-release", RELEASE, 0o644)
        .directory("/tmp", 0o1777);
    let release = PathBuf::from(RELEASE);
    let files = closure.files.values().chain(&authorities).chain([&release]);
    LayerContents { tree, ..LayerContents::default() }.with_packages(files.map(PathBuf::as_path))
}

/// Third-party programs and those of their libraries that the base does not have.
pub(crate) fn tools(programs: &[&str], base: &LayerContents) -> Result<LayerContents> {
    let real = |program: &&str| fs::canonicalize(program).with_context(|| missing(program));
    let files = programs.iter().map(real).collect::<Result<Vec<_>>>()?;
    let closure = LibraryResolver::default().closure(&files)?;
    let mut tree = LayerTree::new().libraries(&closure);
    for (program, file) in programs.iter().zip(&files) {
        tree = tree.file(program, file, 0o755);
    }
    let added = added(&closure, &[base]);
    let files = added.iter().chain(&files).map(PathBuf::as_path);
    LayerContents { tree: tree.without(&base.tree), ..LayerContents::default() }.with_packages(files)
}

/// One of our programs, and the libraries that only it needs. The stripped program is in `scratch`, which must exist until
/// the layer is written.
pub(crate) fn program(
    name: &str,
    from: &Path,
    scratch: &Path,
    below: &[&LayerContents],
) -> Result<LayerContents> {
    let stripped = scratch.join(name);
    strip(from, &stripped)?;
    let closure = LibraryResolver::default().closure([&stripped])?;
    let mut tree = LayerTree::new().libraries(&closure).file(format!("/usr/bin/{name}"), &stripped, 0o755);
    for part in below {
        tree = tree.without(&part.tree);
    }
    let added = added(&closure, below);
    LayerContents { tree, ..LayerContents::default() }.with_packages(added.iter().map(PathBuf::as_path))
}

impl LayerContents {
    /// Adds the dpkg entries and licences of the packages that own these files.
    fn with_packages<'a>(mut self, files: impl IntoIterator<Item = &'a Path>) -> Result<Self> {
        self.packages = debian::owners(files)?;
        for package in &self.packages {
            let name = &package.name;
            let copyright = format!("/usr/share/doc/{name}/copyright");
            match fs::read(&copyright) {
                Ok(text) => self.tree = self.tree.bytes(copyright, text, 0o644),
                Err(error) => eprintln!("images: cannot read the licence of {name}: {copyright}: {error}"),
            }
            let status = format!("/var/lib/dpkg/status.d/{name}");
            self.tree = self.tree.bytes(status, debian::status(package)?, 0o644);
        }
        Ok(self)
    }
}

/// Libraries that no layer below has.
fn added(closure: &LibraryClosure, below: &[&LayerContents]) -> Vec<PathBuf> {
    let new = |path: &Path| !below.iter().any(|part| part.tree.contains(path));
    closure.files.iter().filter(|(path, _)| new(path)).map(|(_, file)| file.clone()).collect()
}

/// Mozilla's certificate authorities from the Debian package, not this machine's bundle, which may have others.
fn authorities() -> Result<Vec<PathBuf>> {
    let from_mozilla = |file: &PathBuf| {
        file.starts_with("/usr/share/ca-certificates/mozilla")
            && file.extension().is_some_and(|extension| extension == "crt")
    };
    let mut files: Vec<_> = debian::files("ca-certificates")?.into_iter().filter(from_mozilla).collect();
    files.sort();
    ensure!(!files.is_empty(), "the package ca-certificates contains no certificates");
    Ok(files)
}

/// Removes debug information. Function names stay, for backtraces.
fn strip(from: &Path, to: &Path) -> Result<()> {
    let mut command = Command::new("strip");
    command.args(["--strip-debug", "-o"]).arg(to).arg(from);
    let output = command.output().context("cannot run strip; install the package binutils")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "strip {}: {}", from.display(), stderr.trim());
    Ok(())
}

fn missing(program: &str) -> String {
    let name = Path::new(program).file_name().unwrap_or_default().display();
    format!("{program} does not exist; install the package {name}")
}
