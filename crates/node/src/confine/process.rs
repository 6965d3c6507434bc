//! Privileges, and what becomes of the process when its parent or the memory ends.

use std::fs;

use rustix::fs::Mode;
use rustix::io;
use rustix::process::{DumpableBehavior, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::word;

/// Dies with the thread that started it, or not any more.
pub fn end_with_parent(yes: bool) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(yes.then_some(Signal::KILL))
}

/// Closes every descriptor but standard input, output and error: what the agent was started with, and whoever started it
/// forgot to close. To be called before anything is opened.
pub fn close_inherited() -> String {
    let inherited: Vec<i32> = match fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|descriptor| *descriptor > 2)
            .collect(),
        Err(error) => return format!("no descriptors closed: {error}"),
    };
    for descriptor in inherited {
        // That of the list itself is closed already.
        _ = nix::unistd::close(descriptor);
    }
    "no inherited descriptors".to_owned()
}

/// Keeps other processes of the same user from reading this one's memory and environment. For the agent too: it holds
/// the credentials.
pub fn keep_to_itself() -> String {
    word("not dumpable", rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable))
}

pub(super) fn confine() -> Vec<String> {
    rustix::process::umask(Mode::from_raw_mode(0o077));
    vec![
        word("first to go when memory ends", fs::write("/proc/self/oom_score_adj", "1000")),
        word("no new privileges", rustix::thread::set_no_new_privs(true)),
        word("no capabilities", drop_capabilities()),
        // After the file above: it belongs to root from here on.
        keep_to_itself(),
    ]
}

/// Keeps nothing of root's powers but to read the files that the agent, who checked them, can read. Together with
/// `no_new_privs` no program that is started has more.
fn drop_capabilities() -> io::Result<()> {
    let kept = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    let held = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: held.effective & kept,
            permitted: held.permitted & kept,
            inheritable: CapabilitySet::empty(),
        },
    )
}
