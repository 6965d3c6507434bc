//! Finds the Debian packages that own files of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// An installed package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DebianPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    /// `all` if it is independent of the architecture.
    pub(crate) architecture: String,
    /// Source package.
    pub(crate) source: String,
    pub(crate) source_version: String,
}

const FORMAT: &str = "${Package}\\t${Version}\\t${Architecture}\\t${source:Package}\\t${source:Version}\\n";

/// The packages that own these files. A file without a package is an error, because its origin would be unknown.
pub(crate) fn owners<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<BTreeSet<DebianPackage>> {
    let files: BTreeSet<&Path> = files.into_iter().collect();
    if files.is_empty() {
        return Ok(BTreeSet::new());
    }
    let paths = files.iter().flat_map(|file| spellings(file));
    // dpkg-query fails if any path is unknown, which is always so for one of two spellings.
    let output = query(Command::new("dpkg-query").arg("--search").args(paths), false)?;
    let owners = parse_search(&output);
    let mut names = BTreeSet::new();
    for file in files {
        match spellings(file).iter().find_map(|path| owners.get(path)) {
            Some(owner) => names.insert(owner.clone()),
            None => bail!("{} belongs to no Debian package, so its origin is unknown", file.display()),
        };
    }
    let show = query(Command::new("dpkg-query").args(["--show", "--showformat", FORMAT]).args(&names), true)?;
    show.lines()
        .map(|line| {
            parse_package(line).with_context(|| format!("cannot parse the output of dpkg-query: {line:?}"))
        })
        .collect()
}

/// The package's entry in dpkg's status database.
pub(crate) fn status(package: &DebianPackage) -> Result<String> {
    let name = format!("{}:{}", package.name, package.architecture);
    let name = name.strip_suffix(":all").unwrap_or(&name);
    query(Command::new("dpkg-query").args(["--status", name]), true)
}

pub(crate) fn files(package: &str) -> Result<Vec<PathBuf>> {
    let list = query(Command::new("dpkg-query").args(["--listfiles", package]), true)?;
    Ok(list.lines().map(PathBuf::from).collect())
}

/// Name and version of the distribution, as in `debian-12`.
pub(crate) fn distribution() -> String {
    let text = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    match (value("ID"), value("VERSION_ID")) {
        (Some(id), Some(version)) => format!("{id}-{version}"),
        (Some(id), None) => id,
        _ => "unknown".to_owned(),
    }
}

/// `/lib` is a link to `/usr/lib`, and packages list their files under either path.
fn spellings(file: &Path) -> Vec<PathBuf> {
    let short = file.strip_prefix("/usr").ok().map(|rest| Path::new("/").join(rest));
    std::iter::once(file.to_owned()).chain(short).collect()
}

/// Lines such as `libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6`.
fn parse_search(output: &str) -> BTreeMap<PathBuf, String> {
    let owned = output.lines().filter(|line| !line.starts_with("diversion by "));
    let owned = owned.filter_map(|line| line.rsplit_once(": "));
    owned.map(|(package, path)| (PathBuf::from(path), package.to_owned())).collect()
}

fn parse_package(line: &str) -> Option<DebianPackage> {
    let mut fields = line.split('\t').map(str::to_owned);
    Some(DebianPackage {
        name: fields.next()?,
        version: fields.next()?,
        architecture: fields.next()?,
        source: fields.next()?,
        source_version: fields.next()?,
    })
}

fn query(command: &mut Command, strict: bool) -> Result<String> {
    let output = command
        .env("LC_ALL", "C.UTF-8")
        .output()
        .context("cannot run dpkg-query, which finds the Debian packages of an image's files")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() || !strict, "dpkg-query: {}", stderr.trim());
    String::from_utf8(output.stdout).context("the output of dpkg-query is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_found_by_either_path_of_a_file() {
        let output = "diversion by dash from: /bin/sh\nlibc6:amd64: /lib/x86_64-linux-gnu/libc.so.6\nrclone: /usr/bin/rclone\n";
        let owners = parse_search(output);
        let owner = |file: &str| spellings(Path::new(file)).iter().find_map(|path| owners.get(path)).cloned();
        assert_eq!(owner("/usr/lib/x86_64-linux-gnu/libc.so.6").as_deref(), Some("libc6:amd64"));
        assert_eq!(owner("/usr/bin/rclone").as_deref(), Some("rclone"));
        assert_eq!(owner("/usr/bin/other"), None);
    }

    #[test]
    fn the_c_library_of_this_machine_has_a_package_and_a_stray_file_has_none() {
        let library =
            vmafx_image::LibraryResolver::default().find("libc.so.6").unwrap().canonicalize().unwrap();
        let owners: Vec<_> = owners([library.as_path()]).unwrap().into_iter().collect();
        assert_eq!((owners[0].name.as_str(), owners[0].source.as_str()), ("libc6", "glibc"));
        assert!(status(&owners[0]).unwrap().contains(&format!("Version: {}", owners[0].version)));
        let stray = tempfile::NamedTempFile::new().unwrap();
        let error = super::owners([stray.path()]).unwrap_err().to_string();
        assert!(error.contains("belongs to no Debian package"), "{error}");
    }
}
