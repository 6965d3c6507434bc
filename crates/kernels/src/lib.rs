//! libvmaf's integer features, computed to the same bits at half the cost.
//!
//! Each feature has a scalar implementation, which is its specification, and kernels for instruction sets, which are checked
//! against it on intermediate values. [`InstructionSet`] is chosen once, when a feature is created.

mod cambi;
mod dispatch;
mod instruction_set;
mod plane;
mod sample;
mod speed;
#[cfg(test)]
mod testing;

pub use cambi::{Cambi, CambiConfig, CambiError, CambiOptions, CambiScores, Eotf, HalveFrom};
pub use instruction_set::InstructionSet;
pub use plane::{InvalidPlane, Plane};
pub use sample::Sample;
pub use speed::{
    Prescale, PrescaleMethod, Speed, SpeedConfig, SpeedError, SpeedOptions, SpeedScores, SummationOrder,
    VarianceWeighting,
};
