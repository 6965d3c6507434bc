//! What computes the features.

use serde::{Deserialize, Serialize};

use crate::named::named;

/// What computes the features of the models, with the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FeatureEngine {
    /// libvmaf's extractors.
    Libvmaf,
    /// Our kernels for this CPU; libvmaf's extractors where there are none.
    #[default]
    Native,
}

named!(FeatureEngine, "feature engine", { Libvmaf = "libvmaf", Native = "native" });
