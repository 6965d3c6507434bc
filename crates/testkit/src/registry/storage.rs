//! Where a registry keeps what it is given.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::kube::process::{Launch, find_program};

/// Where a registry keeps what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In memory: nothing outlives the process.
    Memory,
    /// On disk, for as long as the [`Registry`](super::Registry) lives.
    Disk,
    /// The same, but it takes nothing new.
    ReadOnly,
    /// The same, but no file can grow beyond so many bytes: a disk that is full.
    Full {
        /// The longest file. The registry's own log must fit in.
        file: u64,
    },
}

impl Storage {
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

    /// How the program is run.
    pub(super) fn launch(self, program: PathBuf, log: &Path) -> Launch {
        let Self::Full { file } = self else { return Launch::new("registry", program, log) };
        let prlimit = find_program("prlimit").unwrap_or_else(|| "prlimit".into());
        Launch::new("registry", prlimit, log).arg(format!("--fsize={file}")).arg("--").arg(program)
    }
}
