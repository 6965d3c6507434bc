//! Whether this machine can run a whole node, in one line that says why not and what to do.
//!
//! Facts are collected first and evaluated second, so that the evaluation can be tested on any machine.

use std::fmt;
use std::process::{Command, Stdio};

use super::node::cgroups;
use super::process::find_program;

/// Programs that are not built here, with their Debian packages.
const PROGRAMS: [(&str, &str); 7] = [
    ("runc", "runc"),
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("setpriv", "util-linux"),
    ("mount", "mount"),
];

const PLUGINS: [&str; 3] = ["ptp", "host-local", "loopback"];

/// Directories in which distributions install CNI plugins.
const PLUGIN_DIRECTORIES: [&str; 3] = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];

/// The first steps of a node, as a trial: everything vanishes with the namespaces. `-n` keeps the mounts out of the
/// host's `/etc/mtab`.
const TRIAL: &str = "mount -n -t tmpfs tmpfs /run && mkdir /run/upper /run/work \
    && mount -n -t overlay overlay -o lowerdir=/var,upperdir=/run/upper,workdir=/run/work /var";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineFacts {
    /// In Rust's notation.
    pub os: &'static str,
    pub root: bool,
    /// With their packages.
    pub missing_programs: Vec<(&'static str, &'static str)>,
    /// Whether a directory contains all CNI plugins.
    pub plugins: bool,
    /// The result of a trial of namespaces and an overlay mount, which needs root.
    pub namespaces: Result<(), String>,
    /// The result of creating a cgroup, which needs root.
    pub cgroups: Result<(), String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    Possible,
    /// The reason, and what to do.
    Impossible(String),
}

impl fmt::Display for ProbeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Possible => write!(f, "whole node: yes"),
            Self::Impossible(why) => write!(f, "whole node: no: {why}"),
        }
    }
}

/// Checks this machine. Takes a few milliseconds and leaves nothing behind.
pub fn probe() -> ProbeResult {
    evaluate(&MachineFacts::collect())
}

/// Reports the first obstacle, in the order in which a user would remove them.
pub fn evaluate(facts: &MachineFacts) -> ProbeResult {
    let obstacle = if facts.os != "linux" {
        Some(format!("it needs Linux, but this is {}", facts.os))
    } else if !facts.missing_programs.is_empty() {
        Some(missing(&facts.missing_programs))
    } else if !facts.plugins {
        Some(format!(
            "the CNI plugins {} are missing: install containernetworking-plugins",
            PLUGINS.join(", ")
        ))
    } else if !facts.root {
        Some("it needs root".to_owned())
    } else if let Err(why) = &facts.namespaces {
        Some(format!("namespaces or overlay mounts are not allowed: {why}"))
    } else if let Err(why) = &facts.cgroups {
        Some(format!("cannot create cgroups: {why}"))
    } else {
        None
    };
    obstacle.map_or(ProbeResult::Possible, ProbeResult::Impossible)
}

fn missing(programs: &[(&str, &str)]) -> String {
    let names: Vec<_> = programs.iter().map(|(name, _)| *name).collect();
    let mut packages: Vec<_> = programs.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    format!("{} not found: install {}", names.join(", "), packages.join(" "))
}

impl MachineFacts {
    pub fn collect() -> Self {
        let root = rustix::process::geteuid().is_root();
        let missing_programs: Vec<_> =
            PROGRAMS.into_iter().filter(|(program, _)| find_program(program).is_none()).collect();
        let can_try = root && missing_programs.is_empty();
        Self {
            os: std::env::consts::OS,
            root,
            plugins: plugin_directory().is_some(),
            namespaces: if can_try { trial() } else { Ok(()) },
            cgroups: if can_try { cgroups::trial().map_err(|error| error.to_string()) } else { Ok(()) },
            missing_programs,
        }
    }
}

/// The directory with the CNI plugins.
pub(crate) fn plugin_directory() -> Option<&'static str> {
    let complete = |directory: &&str| {
        PLUGINS.iter().all(|plugin| std::path::Path::new(directory).join(plugin).is_file())
    };
    PLUGIN_DIRECTORIES.into_iter().find(complete)
}

fn trial() -> Result<(), String> {
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", TRIAL])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(())
    } else {
        Err(stderr.lines().next().unwrap_or("no reason given").to_owned())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn capable_machine() -> MachineFacts {
        MachineFacts {
            os: "linux",
            root: true,
            missing_programs: Vec::new(),
            plugins: true,
            namespaces: Ok(()),
            cgroups: Ok(()),
        }
    }

    #[test]
    fn a_machine_with_everything_can() {
        assert_eq!(evaluate(&capable_machine()).to_string(), "whole node: yes");
    }

    #[rstest]
    #[case::macos(MachineFacts { os: "macos", ..capable_machine() }, "it needs Linux, but this is macos")]
    #[case::user(MachineFacts { root: false, ..capable_machine() }, "it needs root")]
    #[case::programs(
        MachineFacts { missing_programs: vec![("runc", "runc"), ("nft", "nftables")], ..capable_machine() },
        "runc, nft not found: install runc nftables"
    )]
    #[case::one_package(
        MachineFacts { missing_programs: vec![("unshare", "util-linux"), ("nsenter", "util-linux")], ..capable_machine() },
        "unshare, nsenter not found: install util-linux"
    )]
    #[case::plugins(
        MachineFacts { plugins: false, ..capable_machine() },
        "the CNI plugins ptp, host-local, loopback are missing: install containernetworking-plugins"
    )]
    #[case::sandboxed(
        MachineFacts { namespaces: Err("unshare failed".into()), ..capable_machine() },
        "namespaces or overlay mounts are not allowed: unshare failed"
    )]
    #[case::cgroups(
        MachineFacts { cgroups: Err("Read-only file system".into()), ..capable_machine() },
        "cannot create cgroups: Read-only file system"
    )]
    fn an_obstacle_is_reported_in_one_line(#[case] facts: MachineFacts, #[case] why: &str) {
        assert_eq!(evaluate(&facts), ProbeResult::Impossible(why.to_owned()));
    }
}
