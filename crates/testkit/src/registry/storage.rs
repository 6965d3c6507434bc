use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::kube::process::{ChildCommand, find_program};

/// The storage of a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryStorage {
    /// In memory; nothing outlives the process.
    Memory,
    /// On disk, for as long as the [`RegistryServer`](super::RegistryServer) lives.
    Disk,
    /// On disk, without accepting uploads.
    ReadOnly,
    /// On disk, with a maximum file size, which imitates a full disk.
    Full {
        /// The registry's own log must fit in as well.
        max_file_bytes: u64,
    },
}

impl RegistryStorage {
    pub(super) fn settings(self, data: &Path) -> Value {
        let delete = json!({"enabled": true});
        match self {
            Self::Memory => json!({"inmemory": {}, "delete": delete}),
            Self::Disk | Self::Full { .. } => {
                json!({"filesystem": {"rootdirectory": data}, "delete": delete})
            }
            Self::ReadOnly => json!({
                "filesystem": {"rootdirectory": data},
                "delete": delete,
                "maintenance": {"readonly": {"enabled": true}},
            }),
        }
    }

    /// The command that runs the registry.
    pub(super) fn command(self, program: PathBuf, log: &Path) -> ChildCommand {
        let Self::Full { max_file_bytes } = self else { return ChildCommand::new("registry", program, log) };
        let prlimit = find_program("prlimit").unwrap_or_else(|| "prlimit".into());
        ChildCommand::new("registry", prlimit, log)
            .arg(format!("--fsize={max_file_bytes}"))
            .arg("--")
            .arg(program)
    }
}
