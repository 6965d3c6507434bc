//! What is in each layer, and which packages that comes from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use vmafx_image::{LayerTree, LibraryClosure, LibraryResolver};

use super::debian::{self, Package};

/// What every Rust program is linked with; `libgcc_s` is also what the C library opens by name when a thread ends early.
const COMMON: [&str; 3] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1"];

/// Kubernetes sees from the number that this is not root.
const PASSWD: &str = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nnonroot:x:65532:\n";

/// Without it the C library would ask name servers before it looks at what a Pod has in `/etc/hosts`.
const NSSWITCH: &str = "passwd: files\ngroup: files\nhosts: files dns\n";

/// Which Debian the packages are of: scanners look there.
const RELEASE: &str = "/usr/lib/os-release";

/// A layer to be, and where its files come from.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) tree: LayerTree,
    pub(crate) packages: BTreeSet<Package>,
}

/// What all images share. It depends on this machine's packages alone, not on the program.
pub(crate) fn base() -> Result<Part> {
    let closure = LibraryResolver::default().libraries(&COMMON)?;
    let authorities = authorities()?;
    let bundle: Vec<u8> = authorities
        .iter()
        .map(fs::read)
        .collect::<Result<Vec<_>, _>>()
        .context("the authorities of TLS")?
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
    Part { tree, ..Part::default() }.with_packages(files.map(PathBuf::as_path))
}

/// Other people's programs and their libraries, as far as the base does not have them.
pub(crate) fn tools(programs: &[&str], base: &Part) -> Result<Part> {
    let real = |program: &&str| fs::canonicalize(program).with_context(|| missing(program));
    let files = programs.iter().map(real).collect::<Result<Vec<_>>>()?;
    let closure = LibraryResolver::default().closure(&files)?;
    let mut tree = LayerTree::new().libraries(&closure);
    for (program, file) in programs.iter().zip(&files) {
        tree = tree.file(program, file, 0o755);
    }
    let added = added(&closure, &[base]);
    let files = added.iter().chain(&files).map(PathBuf::as_path);
    Part { tree: tree.without(&base.tree), ..Part::default() }.with_packages(files)
}

/// One of our programs, and the libraries that it alone needs. It is stripped on the way, into a directory that must
/// stay until the layer is written.
pub(crate) fn program(name: &str, from: &Path, scratch: &Path, below: &[&Part]) -> Result<Part> {
    let stripped = scratch.join(name);
    strip(from, &stripped)?;
    let closure = LibraryResolver::default().closure([&stripped])?;
    let mut tree = LayerTree::new().libraries(&closure).file(format!("/usr/bin/{name}"), &stripped, 0o755);
    for part in below {
        tree = tree.without(&part.tree);
    }
    let added = added(&closure, below);
    Part { tree, ..Part::default() }.with_packages(added.iter().map(PathBuf::as_path))
}

impl Part {
    /// With what the packages of these files say of themselves: to scanners, and their licences to everybody.
    fn with_packages<'a>(mut self, files: impl IntoIterator<Item = &'a Path>) -> Result<Self> {
        self.packages = debian::owners(files)?;
        for package in &self.packages {
            let name = &package.name;
            let copyright = format!("/usr/share/doc/{name}/copyright");
            match fs::read(&copyright) {
                Ok(text) => self.tree = self.tree.bytes(copyright, text, 0o644),
                Err(error) => eprintln!("images: the licence of {name} is missing: {copyright}: {error}"),
            }
            let status = format!("/var/lib/dpkg/status.d/{name}");
            self.tree = self.tree.bytes(status, debian::status(package)?, 0o644);
        }
        Ok(self)
    }
}

/// The files of libraries that no layer below has.
fn added(closure: &LibraryClosure, below: &[&Part]) -> Vec<PathBuf> {
    let new = |path: &Path| !below.iter().any(|part| part.tree.contains(path));
    closure.files.iter().filter(|(path, _)| new(path)).map(|(_, file)| file.clone()).collect()
}

/// The authorities that Debian has from Mozilla. Not the bundle of this machine, which may trust others besides.
fn authorities() -> Result<Vec<PathBuf>> {
    let of_mozilla = |file: &PathBuf| {
        file.starts_with("/usr/share/ca-certificates/mozilla")
            && file.extension().is_some_and(|extension| extension == "crt")
    };
    let mut files: Vec<_> = debian::files("ca-certificates")?.into_iter().filter(of_mozilla).collect();
    files.sort();
    ensure!(!files.is_empty(), "the package ca-certificates has no authorities");
    Ok(files)
}

/// Without what only a debugger wants. Names of functions stay, for the traces of panics.
fn strip(from: &Path, to: &Path) -> Result<()> {
    let mut command = Command::new("strip");
    command.args(["--strip-debug", "-o"]).arg(to).arg(from);
    let output = command.output().context("strip could not be run: it comes with the package binutils")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "strip {}: {}", from.display(), complaint.trim());
    Ok(())
}

fn missing(program: &str) -> String {
    let name = Path::new(program).file_name().unwrap_or_default().display();
    format!("{program} is not there: install the package {name}")
}
