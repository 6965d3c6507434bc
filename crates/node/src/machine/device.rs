//! The model of the CPU, and GPUs by the tools of their makers. Shown to people; nothing is decided by it.

mod names;
mod tool;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

pub use tool::DEADLINE;

/// Makers of what is computed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// None in particular.
    Cpu,
    /// By CUDA.
    Nvidia,
    /// By HIP.
    Amd,
    /// By SYCL.
    Intel,
    /// By Metal.
    Apple,
}

impl Vendor {
    /// Whose devices a backend computes on; nothing for a backend that is not known.
    pub fn of_backend(backend: &str) -> Option<Self> {
        match backend {
            "cpu" => Some(Self::Cpu),
            "cuda" => Some(Self::Nvidia),
            "hip" => Some(Self::Amd),
            "sycl" => Some(Self::Intel),
            "metal" => Some(Self::Apple),
            _ => None,
        }
    }

    /// As it is announced.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
            Self::Intel => "intel",
            Self::Apple => "apple",
        }
    }
}

/// The device that a backend computes on, such as `NVIDIA L4` or `AMD EPYC 7763 64-Core Processor`: the first that the
/// tool of its maker names. The model of the CPU where there is no tool or it names none.
pub async fn detect(vendor: Vendor) -> String {
    let path = std::env::var_os("PATH");
    detect_with(vendor, path.as_deref(), Path::new("/")).await
}

/// The same with the tools in the directories of `path`, and the files below `root`.
pub async fn detect_with(vendor: Vendor, path: Option<&OsStr>, root: &Path) -> String {
    let said = match vendor {
        Vendor::Cpu => None,
        Vendor::Nvidia => tool::ask("nvidia-smi", &["-L"], path).await.and_then(|said| names::nvidia(&said)),
        Vendor::Amd => tool::ask("rocm-smi", &["--showid"], path).await.and_then(|said| names::amd(&said)),
        Vendor::Intel => tool::ask("clinfo", &[], path).await.and_then(|said| names::opencl(&said)),
        Vendor::Apple => tool::ask("system_profiler", &["SPDisplaysDataType"], path)
            .await
            .and_then(|said| names::apple(&said)),
    };
    said.unwrap_or_else(|| {
        let text = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
        names::cpu(&text).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
    })
}

#[cfg(test)]
mod tests;
