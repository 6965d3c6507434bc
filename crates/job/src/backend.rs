//! What a node computes with.

use serde::{Deserialize, Serialize};

use crate::named::named;

/// What a scoring node computes with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The CPU, with its vector instructions.
    #[default]
    Cpu,
    /// NVIDIA GPUs.
    Cuda,
    /// Intel GPUs.
    Sycl,
    /// AMD GPUs.
    Hip,
    /// Apple GPUs.
    Metal,
}

named!(Backend, "backend", { Cpu = "cpu", Cuda = "cuda", Sycl = "sycl", Hip = "hip", Metal = "metal" });
