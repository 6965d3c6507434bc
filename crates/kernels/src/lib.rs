//! libvmaf's integer features, computed to the same bits at half the cost.
//!
//! Each feature has a scalar implementation, which is its specification, and kernels for instruction sets, which are checked
//! against it on intermediate values. [`InstructionSet`] is chosen once, when a feature is created.

mod adm;
mod cambi;
mod dispatch;
mod instruction_set;
mod motion;
mod plane;
mod sample;
mod simd;
mod speed;
mod tasks;
#[cfg(test)]
mod testing;
#[cfg(target_arch = "x86_64")]
mod vectors;
mod vif;

pub use adm::{
    Adm, AdmConfig, AdmError, AdmOptions, AdmScale, AdmScores, ContrastSensitivity, MaskingOverflow,
};
pub use cambi::{Cambi, CambiConfig, CambiError, CambiOptions, CambiScores, Eotf, HalveFrom};
pub use instruction_set::InstructionSet;
pub use motion::{Motion, MotionConfig, MotionError, MotionOptions, MotionScores, MotionSeries};
pub use plane::{InvalidPlane, Plane};
pub use sample::{NamedPlane, PlaneSample};
pub use simd::UnavailableInstructionSet;
pub use speed::{
    Prescale, PrescaleMethod, Speed, SpeedConfig, SpeedError, SpeedOptions, SpeedScores, SummationOrder,
    VarianceWeighting,
};
pub use tasks::{Sequential, Task, TaskRunner};
pub use vif::{Vif, VifConfig, VifError, VifScale, VifScores, VifSums};
