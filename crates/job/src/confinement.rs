//! What confined the process that read the clips.

use serde::{Deserialize, Serialize};

/// The measures that were in force while a job was scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Confinement {
    /// Version of the Landlock ABI that restricted the files of the process; 0: the files were not restricted.
    pub landlock_abi: u32,
    /// Whether seccomp filtered the system calls of the process.
    pub seccomp: bool,
    /// Memory limit of each process of the job in bytes; 0: none.
    pub memory_bytes: u64,
    /// Limit of CPU time of each process of the job in seconds; 0: none.
    pub cpu_seconds: u64,
    /// Limit of the time for the whole job in seconds; 0: none.
    pub wall_seconds: u64,
}

impl Confinement {
    /// Whether files and system calls are both restricted.
    pub const fn is_complete(&self) -> bool {
        self.landlock_abi > 0 && self.seccomp
    }

    /// The measures that are not in force, by name.
    pub fn missing(&self) -> Vec<&'static str> {
        [("landlock", self.landlock_abi > 0), ("seccomp", self.seccomp)]
            .into_iter()
            .filter_map(|(name, active)| (!active).then_some(name))
            .collect()
    }
}
