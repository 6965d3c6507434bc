//! Can this machine run a whole node? One line that says yes, or why not and what to do.
//!
//! Facts are gathered first and judged second, so that the judgement can be tested without a strange machine.

use std::fmt;
use std::process::{Command, Stdio};

use super::node::cgroups;
use super::process::find_program;

/// The programs that are not built here, and the Debian package of each.
const PROGRAMS: [(&str, &str); 7] = [
    ("runc", "runc"),
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("setpriv", "util-linux"),
    ("mount", "mount"),
];

/// The network plugins that a node uses.
const PLUGINS: [&str; 3] = ["ptp", "host-local", "loopback"];

/// Where distributions put network plugins.
const PLUGIN_DIRECTORIES: [&str; 3] = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];

/// What a node does first, done on trial: everything vanishes with the namespaces.
/// `-n`: no note of it in the host's table of mounts.
const TRIAL: &str = "mount -n -t tmpfs tmpfs /run && mkdir /run/upper /run/work \
    && mount -n -t overlay overlay -o lowerdir=/var,upperdir=/run/upper,workdir=/run/work /var";

/// What matters about a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The operating system, as Rust calls it.
    pub os: &'static str,
    /// Whether we are root.
    pub root: bool,
    /// The programs that are missing, with their packages.
    pub missing_programs: Vec<(&'static str, &'static str)>,
    /// Whether there is a directory with all the network plugins.
    pub plugins: bool,
    /// What went wrong when namespaces and an overlay mount were tried; not tried without root.
    pub namespaces: Result<(), String>,
    /// What went wrong when a cgroup was made; not tried without root.
    pub cgroups: Result<(), String>,
}

/// Whether this machine can run a whole node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It can.
    Possible,
    /// It cannot, and why.
    Impossible(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Possible => write!(f, "whole node: yes"),
            Self::Impossible(why) => write!(f, "whole node: no: {why}"),
        }
    }
}

/// Looks at this machine and judges. Takes a few milliseconds and leaves nothing behind.
pub fn probe() -> Verdict {
    judge(&Facts::gather())
}

/// The judgement: the first thing that is in the way, in the order in which a user would put it right.
pub fn judge(facts: &Facts) -> Verdict {
    let obstacle = if facts.os != "linux" {
        Some(format!("it needs Linux, and this is {}", facts.os))
    } else if !facts.missing_programs.is_empty() {
        Some(missing(&facts.missing_programs))
    } else if !facts.plugins {
        Some(format!("no network plugins ({}): install containernetworking-plugins", PLUGINS.join(", ")))
    } else if !facts.root {
        Some("not root".to_owned())
    } else if let Err(why) = &facts.namespaces {
        Some(format!("namespaces or overlay mounts are not allowed: {why}"))
    } else if let Err(why) = &facts.cgroups {
        Some(format!("cgroups cannot be written: {why}"))
    } else {
        None
    };
    obstacle.map_or(Verdict::Possible, Verdict::Impossible)
}

fn missing(programs: &[(&str, &str)]) -> String {
    let names: Vec<_> = programs.iter().map(|(name, _)| *name).collect();
    let mut packages: Vec<_> = programs.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    format!("no {}: install {}", names.join(", "), packages.join(" "))
}

impl Facts {
    /// Looks at this machine.
    pub fn gather() -> Self {
        let root = rustix::process::geteuid().is_root();
        let missing_programs: Vec<_> =
            PROGRAMS.into_iter().filter(|(program, _)| find_program(program).is_none()).collect();
        let try_it = root && missing_programs.is_empty();
        Self {
            os: std::env::consts::OS,
            root,
            plugins: plugin_directory().is_some(),
            namespaces: if try_it { trial() } else { Ok(()) },
            cgroups: if try_it { cgroups::trial().map_err(|error| error.to_string()) } else { Ok(()) },
            missing_programs,
        }
    }
}

/// The directory with the network plugins.
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

    fn able() -> Facts {
        Facts {
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
        assert_eq!(judge(&able()).to_string(), "whole node: yes");
    }

    #[rstest]
    #[case::macos(Facts { os: "macos", ..able() }, "it needs Linux, and this is macos")]
    #[case::user(Facts { root: false, ..able() }, "not root")]
    #[case::programs(
        Facts { missing_programs: vec![("runc", "runc"), ("nft", "nftables")], ..able() },
        "no runc, nft: install runc nftables"
    )]
    #[case::one_package(
        Facts { missing_programs: vec![("unshare", "util-linux"), ("nsenter", "util-linux")], ..able() },
        "no unshare, nsenter: install util-linux"
    )]
    #[case::plugins(
        Facts { plugins: false, ..able() },
        "no network plugins (ptp, host-local, loopback): install containernetworking-plugins"
    )]
    #[case::sandboxed(
        Facts { namespaces: Err("unshare failed".into()), ..able() },
        "namespaces or overlay mounts are not allowed: unshare failed"
    )]
    #[case::cgroups(
        Facts { cgroups: Err("Read-only file system".into()), ..able() },
        "cgroups cannot be written: Read-only file system"
    )]
    fn what_is_in_the_way_is_said_in_one_line(#[case] facts: Facts, #[case] why: &str) {
        assert_eq!(judge(&facts), Verdict::Impossible(why.to_owned()));
    }
}
