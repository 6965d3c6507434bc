//! Names of CPUs and GPUs, the latter from the tools of their vendors. Shown to people; no decision depends on them.

mod names;
mod tool;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use vmafx_job::Backend;

/// Vendor of the device that a node computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// Any CPU.
    Cpu,
    Nvidia,
    Amd,
    Intel,
    Apple,
}

impl Vendor {
    pub const ALL: [Self; 5] = [Self::Cpu, Self::Nvidia, Self::Amd, Self::Intel, Self::Apple];

    pub const fn of_backend(backend: Backend) -> Self {
        match backend {
            Backend::Cpu => Self::Cpu,
            Backend::Cuda => Self::Nvidia,
            Backend::Hip => Self::Amd,
            Backend::Sycl => Self::Intel,
            Backend::Metal => Self::Apple,
        }
    }

    /// Its name in `NodeCapability.gpu_vendor` and in metrics.
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

/// The first device that the vendor's tool lists, such as `NVIDIA L4`. Without a tool or a device, the model of the CPU, such
/// as `AMD EPYC 7763 64-Core Processor`.
pub async fn detect(vendor: Vendor) -> String {
    let path = std::env::var_os("PATH");
    detect_with(vendor, path.as_deref(), Path::new("/")).await
}

/// The same with tools in the directories of `path` and files below `root`.
pub async fn detect_with(vendor: Vendor, path: Option<&OsStr>, root: &Path) -> String {
    let name = match vendor {
        Vendor::Cpu => None,
        Vendor::Nvidia => {
            tool::run("nvidia-smi", &["-L"], path).await.and_then(|output| names::nvidia(&output))
        }
        Vendor::Amd => {
            tool::run("rocm-smi", &["--showid"], path).await.and_then(|output| names::amd(&output))
        }
        Vendor::Intel => tool::run("clinfo", &[], path).await.and_then(|output| names::opencl(&output)),
        Vendor::Apple => tool::run("system_profiler", &["SPDisplaysDataType"], path)
            .await
            .and_then(|output| names::apple(&output)),
    };
    name.unwrap_or_else(|| {
        let text = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
        names::cpu(&text).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
    })
}

#[cfg(test)]
mod tests;
