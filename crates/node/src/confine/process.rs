//! Privileges, access by other processes, and what happens when the parent or the memory is gone.

use std::fs;

use rustix::fs::Mode;
use rustix::io;
use rustix::process::{DumpableBehavior, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::measure;

/// Whether the kernel kills this process together with the thread that started it.
pub fn end_with_parent(yes: bool) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(yes.then_some(Signal::KILL))
}

/// Closes every descriptor but standard input, output and error, which the agent may have inherited from a careless parent.
/// Must be called before this process opens anything.
pub fn close_inherited() -> String {
    let inherited: Vec<i32> = match fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|descriptor| *descriptor > 2)
            .collect(),
        Err(error) => return format!("no descriptors closed: {error}"),
    };
    for descriptor in inherited {
        // An error is that of the directory's own descriptor, which is closed already.
        _ = nix::unistd::close(descriptor);
    }
    "no inherited descriptors".to_owned()
}

/// Keeps other processes of the same user from reading the memory and environment of this one. The agent calls it too,
/// because it holds the credentials.
pub fn keep_to_itself() -> String {
    measure("not dumpable", rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable))
}

pub(super) fn confine() -> Vec<String> {
    rustix::process::umask(Mode::from_raw_mode(0o077));
    vec![
        measure("first victim of the OOM killer", fs::write("/proc/self/oom_score_adj", "1000")),
        measure("no new privileges", rustix::thread::set_no_new_privs(true)),
        measure("no capabilities", drop_capabilities()),
        // After the file above, because the files of a process that is not dumpable belong to root.
        keep_to_itself(),
    ]
}

/// Drops all capabilities but those to read the files that the agent can read and has checked. Because of `no_new_privs` no
/// program that is started gets more.
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
